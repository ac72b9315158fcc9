package org.horovod4j.launcher;

import org.horovod4j.HorovodException;
import org.horovod4j.launcher.function.FunctionFailure;
import org.jspecify.annotations.Nullable;

import java.util.OptionalInt;

/// A launched function did not return on all ranks. The message says which rank failed first, on
/// which host, and how. All processes of the job have exited.
///
/// If the function threw an exception, the cause prints like that exception.
public final class LaunchException extends HorovodException {
    private static final long serialVersionUID = 1L;
    private static final int NO_RANK = -1;

    private final int rank;

    private LaunchException(int rank, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.rank = rank;
    }

    LaunchException(String message) {
        this(NO_RANK, message, null);
    }

    LaunchException(String message, @Nullable Throwable cause) {
        this(NO_RANK, message, cause);
    }

    static LaunchException threw(int rank, String host, FunctionFailure functionFailure) {
        return new LaunchException(
                rank,
                "rank %d on %s threw %s".formatted(rank, host, functionFailure.summary()),
                new RemoteThrowable(functionFailure.trace()));
    }

    static LaunchException died(int rank, String host, String how, String details) {
        return new LaunchException(
                rank,
                "rank %d on %s ended before its function returned: %s\n%s"
                        .formatted(rank, host, how, details),
                null);
    }

    /// The rank that failed first, if it was a rank that failed.
    public OptionalInt rank() {
        return rank == NO_RANK ? OptionalInt.empty() : OptionalInt.of(rank);
    }

    /// An exception that a rank threw, with the stack trace of that rank as text.
    private static final class RemoteThrowable extends Exception {
        private static final long serialVersionUID = 1L;

        RemoteThrowable(String trace) {
            super(trace, null, false, false);
        }

        /// Without the name of this class, so that it prints like the original exception.
        @Override
        @SuppressWarnings("OverrideThrowableToString")
        public String toString() {
            return String.valueOf(getMessage());
        }
    }
}
