package org.horovod4j.spi;

import java.util.Map;

/// The news that a rank is gone.
///
/// @param rank the rank, or -1 for the launcher
/// @param host where it ran
/// @param reason what is known: "killed by signal 9 (SIGKILL)", "silent for 10 s", …
/// @param orderly whether it called `shutdown` rather than failed
/// @param completed how many operations it had completed in each process set: these end well
///     elsewhere too; empty when nothing is known of them
public record RankDeparture(
        int rank, String host, String reason, boolean orderly, Map<Integer, Long> completed) {
    public RankDeparture {
        completed = Map.copyOf(completed);
    }

    /// How many operations of `processSet` the rank had completed, as far as is known.
    public long completed(int processSet) {
        return completed.getOrDefault(processSet, 0L);
    }
}
