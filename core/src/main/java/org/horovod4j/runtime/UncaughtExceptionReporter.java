package org.horovod4j.runtime;

import org.horovod4j.HorovodException;
import org.horovod4j.PeerLostException;
import org.horovod4j.ShutDownException;
import org.horovod4j.log.Log;
import org.horovod4j.runtime.stall.ProgramThread;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Arrays;
import java.util.Objects;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;

/// Remembers the uncaught exception that ends this process: the reason that the other ranks get.
///
/// The JVM reports such an exception to one handler only. So this one calls the handler that was
/// there before, and without one prints what the JVM would. Two kinds of exceptions would hide the
/// real cause of a failure:
///
/// - This rank stops because another rank is gone: one line. The other rank has the cause.
/// - This process is ending, for example after Ctrl-C, and its threads can run no collectives any
///   more: nothing.
///
/// The log of level `DEBUG` has the stack traces of both.
public final class UncaughtExceptionReporter {
    private static final Logger LOGGER = Log.of(UncaughtExceptionReporter.class);
    private static final int MAX_CAUSES = 100;

    private final BooleanSupplier exiting;
    private final BooleanSupplier blocked;
    private volatile String reason = "its process has ended";

    /// @param exiting whether the process is ending
    /// @param blocked whether this rank cannot continue because another one is gone
    public UncaughtExceptionReporter(BooleanSupplier exiting, BooleanSupplier blocked) {
        this.exiting = exiting;
        this.blocked = blocked;
    }

    /// Becomes the default handler, until the program sets another.
    public void install() {
        Thread.UncaughtExceptionHandler previous = Thread.getDefaultUncaughtExceptionHandler();
        Thread.setDefaultUncaughtExceptionHandler(
                (thread, thrown) -> report(previous, thread, thrown));
    }

    private void report(
            Thread.@Nullable UncaughtExceptionHandler previous, Thread thread, Throwable thrown) {
        if (exiting.getAsBoolean() && isOurs(thrown)) {
            LOGGER.log(Level.DEBUG, "a thread has ended because its process is ending", thrown);
            return;
        }
        reason = "its program failed: " + thrown;
        if (previous != null) {
            previous.uncaughtException(thread, thrown);
        } else if (thrown instanceof PeerLostException
                || (thrown instanceof ShutDownException && blocked.getAsBoolean())) {
            System.err.println(line(thread, thrown));
            LOGGER.log(Level.DEBUG, "another rank is gone", thrown);
        } else {
            print(thread, thrown);
        }
    }

    /// Limited, because a chain of causes may contain a cycle.
    private static boolean isOurs(Throwable thrown) {
        return Stream.<Throwable>iterate(thrown, Objects::nonNull, Throwable::getCause)
                .limit(MAX_CAUSES)
                .anyMatch(HorovodException.class::isInstance);
    }

    /// The first line of the message, and where the program waited.
    private static String line(Thread thread, Throwable thrown) {
        String first = thrown.toString().lines().findFirst().orElse("");
        String place =
                Arrays.stream(thrown.getStackTrace())
                        .filter(ProgramThread::isOfProgram)
                        .findFirst()
                        .map(frame -> " (at %s)".formatted(frame))
                        .orElse("");
        return "Exception in thread \"%s\" %s%s".formatted(thread.getName(), first, place);
    }

    @SuppressWarnings("CatchAndPrintStackTrace") // no caller is left to handle it
    private static void print(Thread thread, Throwable thrown) {
        System.err.print("Exception in thread \"%s\" ".formatted(thread.getName()));
        thrown.printStackTrace();
    }

    /// Why the process ends; continues "rank 3 on node2 is lost:".
    public String reason() {
        return reason;
    }
}
