package org.horovod4j;

import org.jspecify.annotations.Nullable;

/// Remembers the uncaught exception that ends this process: the reason that the other ranks get.
///
/// The JVM reports such an exception to one handler only. So this one calls the handler that was
/// there before, and without one prints what the JVM would.
final class UncaughtExceptionReporter {
    private volatile String reason = "its process has ended";

    /// Becomes the default handler, until the program sets another.
    void install() {
        Thread.UncaughtExceptionHandler previous = Thread.getDefaultUncaughtExceptionHandler();
        Thread.setDefaultUncaughtExceptionHandler(
                (thread, thrown) -> report(previous, thread, thrown));
    }

    private void report(
            Thread.@Nullable UncaughtExceptionHandler previous, Thread thread, Throwable thrown) {
        reason = "its program failed: " + thrown;
        if (previous == null) {
            print(thread, thrown);
        } else {
            previous.uncaughtException(thread, thrown);
        }
    }

    @SuppressWarnings("CatchAndPrintStackTrace") // no caller is left to handle it
    private static void print(Thread thread, Throwable thrown) {
        System.err.print("Exception in thread \"%s\" ".formatted(thread.getName()));
        thrown.printStackTrace();
    }

    /// Why the process ends; continues "rank 3 on node2 is lost:".
    String reason() {
        return reason;
    }
}
