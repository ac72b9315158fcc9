package org.horovod4j.launcher;

import org.horovod4j.HorovodException;
import org.horovod4j.launcher.function.FunctionFailure;
import org.horovod4j.launcher.function.ThrownException;
import org.jspecify.annotations.Nullable;

import java.util.OptionalInt;

/// A launched function did not return on all ranks. The message says which rank failed first, on
/// which host, and how. All processes of the job have exited.
///
/// If the function threw an exception, that is the cause: with its class if this program has it, its
/// message, and the frames of that rank.
public final class LaunchException extends HorovodException {
    private static final long serialVersionUID = 1L;
    private static final int NO_RANK = -1;

    private final int rank;

    private LaunchException(int rank, String message, @Nullable Throwable cause) {
        super(message, cause);
        this.rank = rank;
    }

    /// The job failed for another reason than a rank.
    public LaunchException(String message) {
        this(NO_RANK, message, null);
    }

    public LaunchException(String message, @Nullable Throwable cause) {
        this(NO_RANK, message, cause);
    }

    /// The function threw on a rank.
    ///
    /// @param loader of the classes of the launching program
    @SuppressWarnings("exports") // only for the module of Spark, which sees ThrownException
    public static LaunchException threw(
            int rank, String host, ThrownException thrown, ClassLoader loader) {
        return new LaunchException(
                rank,
                "rank %d on %s threw %s".formatted(rank, host, thrown.text()),
                thrown.restore(loader));
    }

    /// A rank ended before its function returned.
    public static LaunchException died(int rank, String host, String how, String details) {
        return new LaunchException(
                rank,
                "rank %d on %s ended before its function returned: %s\n%s"
                        .formatted(rank, host, how, details),
                null);
    }

    /// @param failure of the function, the last one; null if it did not fail
    static LaunchException ofElasticJob(
            String message, @Nullable FunctionFailure failure, ClassLoader loader) {
        return new LaunchException(
                message, failure == null ? null : failure.thrown().restore(loader));
    }

    /// The rank that failed first, if it was a rank that failed.
    public OptionalInt rank() {
        return rank == NO_RANK ? OptionalInt.empty() : OptionalInt.of(rank);
    }
}
