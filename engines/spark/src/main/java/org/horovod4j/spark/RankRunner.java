package org.horovod4j.spark;

import org.jspecify.annotations.Nullable;

import java.io.Serializable;
import java.util.Iterator;

/// Runs the function of one rank inside a task: in the executor's JVM or in a process of its own.
interface RankRunner {
    /// What a function returned.
    ///
    /// @param rank at the end; [#NO_RANK] for an elastic worker that the job has dismissed
    record Result(int rank, @Nullable Object value) implements Serializable {
        static final int NO_RANK = -1;
    }

    /// Returns what the function returns, and throws what it throws.
    Result run(TaskMessage.Start start, RankBody body, Iterator<?> rows) throws Exception;

    /// Ends the rank as a failure. The function then fails soon. Any thread may call this.
    void abort(String reason);
}
