package org.horovod4j.spi;

import java.util.Map;

/// A rank that is gone, and what is known about it.
///
/// @param rank the rank, or -1 for the launcher
/// @param host the host it ran on
/// @param reason why it is gone: "killed by signal 9 (SIGKILL)", "silent for 10 s", …
/// @param orderly whether it called `shutdown`; otherwise it failed
/// @param completed the number of batches it completed in each process set; the other ranks can
///     finish these. Empty if unknown
public record RankDeparture(
        int rank, String host, String reason, boolean orderly, Map<Integer, Long> completed) {
    public RankDeparture {
        completed = Map.copyOf(completed);
    }

    /// The number of batches of `processSet` that the rank completed; 0 if unknown.
    public long completed(int processSet) {
        return completed.getOrDefault(processSet, 0L);
    }
}
