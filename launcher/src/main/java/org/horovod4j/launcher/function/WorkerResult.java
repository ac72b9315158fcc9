package org.horovod4j.launcher.function;

import org.horovod4j.Hvd;
import org.jspecify.annotations.Nullable;

/// What the function returned in a worker of an elastic job.
///
/// @param rank of the worker at that time; [#NO_RANK] if the job has dismissed it
public record WorkerResult(int rank, @Nullable Object value) {
    private static final int NO_RANK = -1;

    static WorkerResult of(@Nullable Object value) {
        return new WorkerResult(Hvd.isInitialized() ? Hvd.rank() : NO_RANK, value);
    }

    /// Whether the worker took part until the end.
    public boolean hasRank() {
        return rank != NO_RANK;
    }
}
