package org.horovod4j.launcher.process;

import java.io.IOException;
import java.io.InputStream;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.function.LongSupplier;

/// The thread that reads one stream of one process to its end.
///
/// It is a platform thread, since a read of a pipe blocks the carrier of a virtual thread. A job
/// has two of them for each process.
public final class OutputReader {
    /// How long to wait for bytes from a pipe after the processes of the job have exited: a process
    /// that escaped the job may hold it open forever. All that the others wrote is in the pipe by
    /// then and can be read without waiting.
    public static final Duration IDLE_TIMEOUT = Duration.ofSeconds(1);

    private static final Duration POLL_INTERVAL = Duration.ofMillis(20);
    private static final long BUSY = Long.MAX_VALUE;

    /// Gets the bytes, on the thread of the reader.
    public interface Receiver {
        /// Takes the next bytes.
        ///
        /// @param chunk may be used until this method returns
        void onBytes(byte[] chunk, int length);

        /// The stream has ended. Not called when the reader gave up.
        void onEnd();
    }

    private final InputStream source;
    private final Receiver receiver;
    private final byte[] chunk;
    private final LongSupplier nanoTime;
    private final Thread thread;

    /// When the current read began, or [#BUSY] while the receiver takes bytes.
    private volatile long waitingSinceNanos = BUSY;

    private OutputReader(
            String name, InputStream source, int chunk, Receiver receiver, LongSupplier nanoTime) {
        this.source = source;
        this.receiver = receiver;
        this.chunk = new byte[chunk];
        this.nanoTime = nanoTime;
        this.thread = Thread.ofPlatform().daemon().name(name).unstarted(this::run);
    }

    /// Starts to read.
    ///
    /// @param name of the thread
    /// @param chunk how many bytes are read at a time, at most
    public static OutputReader start(
            String name, InputStream source, int chunk, Receiver receiver) {
        return start(name, source, chunk, receiver, System::nanoTime);
    }

    static OutputReader start(
            String name, InputStream source, int chunk, Receiver receiver, LongSupplier nanoTime) {
        OutputReader reader = new OutputReader(name, source, chunk, receiver, nanoTime);
        reader.thread.start();
        return reader;
    }

    /// Waits for the end of the stream, and gives up after this long without bytes; never while the
    /// receiver takes bytes. Silence before the call does not count: there may be bytes that the
    /// thread has not read yet.
    ///
    /// @return whether the stream has ended
    public boolean awaitEnd(Duration silence) throws InterruptedException {
        return awaitEnd(silence, nanoTime.getAsLong());
    }

    /// Like [#awaitEnd(Duration)], when the caller waits for several readers one after another.
    ///
    /// @param beginNanos [System#nanoTime] when the wait for the first of them began
    public boolean awaitEnd(Duration silence, long beginNanos) throws InterruptedException {
        while (!thread.join(POLL_INTERVAL)) {
            long since = waitingSinceNanos;
            long now = nanoTime.getAsLong();
            if (since != BUSY && Math.min(now - since, now - beginNanos) > silence.toNanos()) {
                return false;
            }
        }
        return true;
    }

    /// Whether the stream has ended and the receiver has taken everything.
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
        waitingSinceNanos = nanoTime.getAsLong();
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
