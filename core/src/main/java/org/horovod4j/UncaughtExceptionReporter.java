package org.horovod4j;

/// What the other ranks hear when this process ends without having left the job: the exception that
/// a thread died of, if any did.
///
/// The JVM tells such an exception to one handler. Who has set one is told as before, and what the
/// JVM prints where there is none is printed here.
final class UncaughtExceptionReporter {
    private static volatile String reason = "its process has ended";

    private UncaughtExceptionReporter() {}

    /// Listens from now on, unless the program sets another handler later.
    static void install() {
        Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();
        Thread.setDefaultUncaughtExceptionHandler(
                (thread, thrown) -> {
                    reason = "its program failed: " + thrown;
                    if (before == null) {
                        print(thread, thrown);
                    } else {
                        before.uncaughtException(thread, thrown);
                    }
                });
    }

    @SuppressWarnings("CatchAndPrintStackTrace") // this is where it ends
    private static void print(Thread thread, Throwable thrown) {
        System.err.print("Exception in thread \"%s\" ".formatted(thread.getName()));
        thrown.printStackTrace();
    }

    /// Continues "rank 3 on node2 is lost:".
    static String reason() {
        return reason;
    }
}
