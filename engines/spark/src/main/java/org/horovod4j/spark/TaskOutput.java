package org.horovod4j.spark;

import static java.nio.charset.StandardCharsets.UTF_8;

import org.horovod4j.launcher.function.LineOutputStream;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.util.concurrent.atomic.AtomicBoolean;

/// What the function of a task prints by `System.out` and `System.err`, on the task's thread and on
/// threads that it starts. The driver gets each line; the log files of the executor get it too.
///
/// A task stops printing when the driver is [#MAX_LINES] lines behind.
final class TaskOutput implements AutoCloseable {
    /// How many lines may be on their way to the driver.
    static final int MAX_LINES = 4096;

    private static final InheritableThreadLocal<@Nullable TaskOutput> CURRENT =
            new InheritableThreadLocal<>();

    /// The standard streams of this JVM.
    private static final PrintStream LOG_OUT = System.out;

    private static final PrintStream LOG_ERR = System.err;

    private static final AtomicBoolean INSTALLED = new AtomicBoolean();

    /// Takes the lines of one task.
    @FunctionalInterface
    interface LineReceiver {
        void printed(boolean isError, String line);
    }

    private final LineReceiver receiver;
    private final boolean isCopiedToLog;
    private final LineOutputStream out = new LineOutputStream(line -> forward(false, line));
    private final LineOutputStream err = new LineOutputStream(line -> forward(true, line));
    private int linesOnTheWay;
    private boolean isDriverGone;
    private volatile boolean closed;

    /// @param isCopiedToLog whether this JVM prints the lines too; in a local master, the driver
    ///     has the same standard output
    TaskOutput(LineReceiver receiver, boolean isCopiedToLog) {
        this.receiver = receiver;
        this.isCopiedToLog = isCopiedToLog;
    }

    /// Forwards what this thread and its children print from now on.
    void attach() {
        if (INSTALLED.compareAndSet(false, true)) {
            System.setOut(new PrintStream(new Router(LOG_OUT, false), true, UTF_8));
            System.setErr(new PrintStream(new Router(LOG_ERR, true), true, UTF_8));
        }
        CURRENT.set(this);
    }

    /// The driver has printed lines of this task.
    synchronized void linesPrinted(int count) {
        linesOnTheWay -= count;
        notifyAll();
    }

    /// Forwards what a process prints, until its stream ends.
    void forwardLine(boolean isError, String line) {
        forward(isError, line);
        if (isCopiedToLog) {
            (isError ? LOG_ERR : LOG_OUT).println(line);
        }
    }

    private void forward(boolean isError, String line) {
        if (!closed && awaitTurn()) {
            receiver.printed(isError, line);
        }
    }

    /// @return false when the driver is gone
    private synchronized boolean awaitTurn() {
        boolean interrupted = false;
        while (linesOnTheWay >= MAX_LINES && !isDriverGone) {
            try {
                wait();
            } catch (InterruptedException e) { // a line is printed whole
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        linesOnTheWay++;
        return !isDriverGone;
    }

    /// Sends lines that have no end yet. Threads that print later do so in the log alone.
    @Override
    public void close() {
        CURRENT.remove();
        finish(out);
        finish(err);
        closed = true;
    }

    /// Lets all threads print without waiting, in the log alone.
    synchronized void driverGone() {
        isDriverGone = true;
        notifyAll();
    }

    private static void finish(LineOutputStream stream) {
        synchronized (stream) {
            try {
                stream.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    /// A standard stream of this JVM.
    private static final class Router extends OutputStream {
        private final OutputStream log;
        private final boolean isError;

        Router(OutputStream log, boolean isError) {
            this.log = log;
            this.isError = isError;
        }

        @Override
        public void write(int octet) throws IOException {
            write(new byte[] {(byte) octet}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            TaskOutput output = CURRENT.get();
            if (output == null || output.closed) {
                log.write(bytes, offset, length);
                return;
            }
            if (output.isCopiedToLog) {
                log.write(bytes, offset, length);
            }
            LineOutputStream lines = isError ? output.err : output.out;
            synchronized (lines) {
                lines.write(bytes, offset, length);
            }
        }

        @Override
        public void flush() throws IOException {
            log.flush();
        }
    }
}
