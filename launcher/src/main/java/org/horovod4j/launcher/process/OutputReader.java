package org.horovod4j.launcher.process;

import java.io.IOException;
import java.io.InputStream;
import java.lang.System.Logger.Level;
import java.time.Duration;

/// The thread that reads one stream of one process to its end.
///
/// A platform thread: reads of a pipe block the thread below a virtual one too, and a job has two
/// of these for each process.
public final class OutputReader {
    /// How long a pipe may stay silent, once the processes that wrote to it have ended, before it
    /// is given up: something that left the job unseen may hold it open for ever. Whatever the
    /// others had to say is in the pipe by then, and reading that takes no time.
    public static final Duration IDLE_TIMEOUT = Duration.ofSeconds(1);

    private static final Duration POLL_INTERVAL = Duration.ofMillis(20);
    private static final long BUSY = Long.MAX_VALUE;

    /// Who gets the bytes, on the reader's thread.
    public interface Receiver {
        /// The next bytes have come.
        ///
        /// @param chunk the taker's until it returns
        void onBytes(byte[] chunk, int length);

        /// Nothing more comes. Not called when the stream is given up.
        void onEnd();
    }

    private final InputStream source;
    private final Receiver receiver;
    private final byte[] chunk;
    private final Thread thread;

    /// When the read that is waiting now began, or [#BUSY] while bytes are being taken.
    private volatile long waitingSinceNanos = BUSY;

    private OutputReader(String name, InputStream source, int chunk, Receiver receiver) {
        this.source = source;
        this.receiver = receiver;
        this.chunk = new byte[chunk];
        this.thread = Thread.ofPlatform().daemon().name(name).unstarted(this::run);
    }

    /// Begins to read.
    ///
    /// @param name of the thread
    /// @param chunk how many bytes are taken at a time, at most
    public static OutputReader start(
            String name, InputStream source, int chunk, Receiver receiver) {
        OutputReader reader = new OutputReader(name, source, chunk, receiver);
        reader.thread.start();
        return reader;
    }

    /// Waits for the end of the stream, and gives up when it stays silent for so long; but never
    /// while bytes wait to be taken.
    ///
    /// @return whether the end has come
    public boolean awaitEnd(Duration silence) throws InterruptedException {
        while (!thread.join(POLL_INTERVAL)) {
            long since = waitingSinceNanos;
            if (since != BUSY && System.nanoTime() - since > silence.toNanos()) {
                return false;
            }
        }
        return true;
    }

    /// Whether all there was has been taken.
    public boolean hasEnded() {
        return !thread.isAlive();
    }

    private void run() {
        int length = read();
        while (length >= 0) {
            receiver.onBytes(chunk, length);
            length = read();
        }
        receiver.onEnd();
    }

    /// @return -1 at the end, also when the JVM closed the stream because its process has ended
    private int read() {
        waitingSinceNanos = System.nanoTime();
        try {
            return source.read(chunk);
        } catch (IOException e) {
            System.getLogger(OutputReader.class.getName())
                    .log(Level.DEBUG, "The stream of a process ended", e);
            return -1;
        } finally {
            waitingSinceNanos = BUSY;
        }
    }
}
