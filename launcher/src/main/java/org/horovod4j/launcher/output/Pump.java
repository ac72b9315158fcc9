package org.horovod4j.launcher.output;

import org.horovod4j.launcher.output.Console.Channel;

import java.io.IOException;
import java.io.InputStream;
import java.time.Duration;
import java.util.function.Predicate;

/// The thread that carries one stream of one process to the console and its file.
///
/// A platform thread: reads of a pipe block the thread below a virtual one too, and a job has two
/// of these for each process.
public final class Pump {
    /// As much as a pipe holds on Linux.
    private static final int CHUNK = 1 << 16;

    private static final long BUSY = Long.MAX_VALUE;

    private final InputStream source;
    private final LinePrefixer lines;
    private final Thread thread;

    /// When the read that is waiting now began, or [#BUSY] while bytes are being printed.
    private volatile long waitingSinceNanos = BUSY;

    private Pump(InputStream source, LinePrefixer lines, String name) {
        this.source = source;
        this.lines = lines;
        this.thread = Thread.ofPlatform().daemon().name(name).unstarted(this::run);
    }

    /// Forwards standard output.
    public static Pump ofOutput(int rank, InputStream source, Forwarding forwarding) {
        return start(rank, Channel.STDOUT, source, forwarding, _ -> true);
    }

    /// Forwards standard error, and keeps its last lines.
    ///
    /// @param unwanted a line to drop the first time it is seen; empty for none
    public static Pump ofErrors(
            int rank, InputStream source, Forwarding forwarding, LastLines last, String unwanted) {
        return start(rank, Channel.STDERR, source, forwarding, new ErrorLines(last, unwanted));
    }

    private static Pump start(
            int rank,
            Channel channel,
            InputStream source,
            Forwarding forwarding,
            Predicate<byte[]> admission) {
        LinePrefixer lines = new LinePrefixer(rank, channel, forwarding, admission);
        Pump pump = new Pump(source, lines, "hvd-output-%d-%s".formatted(rank, channel));
        pump.thread.start();
        return pump;
    }

    /// Waits for the end of the stream. Gives up when it stays silent, for a process that left the
    /// job unseen may hold it open for ever, but never while bytes wait to be printed.
    public void awaitEnd(Duration silence) throws InterruptedException {
        while (!thread.join(Duration.ofMillis(20))) {
            long since = waitingSinceNanos;
            if (since != BUSY && System.nanoTime() - since > silence.toNanos()) {
                return;
            }
        }
    }

    private void run() {
        byte[] chunk = new byte[CHUNK];
        int length = read(chunk);
        while (length >= 0) {
            lines.accept(chunk, length);
            length = read(chunk);
        }
        lines.finish();
    }

    /// @return -1 at the end, also when the JVM closed the stream because its process has ended
    private int read(byte[] chunk) {
        waitingSinceNanos = System.nanoTime();
        try {
            return source.read(chunk);
        } catch (IOException e) {
            System.getLogger(Pump.class.getName())
                    .log(System.Logger.Level.DEBUG, "The stream of a process ended", e);
            return -1;
        } finally {
            waitingSinceNanos = BUSY;
        }
    }
}
