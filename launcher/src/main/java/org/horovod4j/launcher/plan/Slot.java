package org.horovod4j.launcher.plan;

/// The place of a process in the job.
///
/// @param host the name of its host
/// @param rank its number among all processes
/// @param localRank its number among those of its host
/// @param crossRank its number among those of equal local rank, host by host
public record Slot(
        String host,
        int rank,
        int size,
        int localRank,
        int localSize,
        int crossRank,
        int crossSize) {
    /// The same place with another rank.
    public Slot withRank(int other) {
        return new Slot(host, other, size, localRank, localSize, crossRank, crossSize);
    }
}
