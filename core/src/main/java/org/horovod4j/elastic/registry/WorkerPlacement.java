package org.horovod4j.elastic.registry;

/// A worker's rank in one generation of an elastic job.
///
/// @param generation counted by the launcher from 0
/// @param rank this worker among those of the generation
/// @param localRank this worker among those of its host
/// @param crossRank this host among those that have this local rank
/// @param sync whether one rank sends its state to all others when the generation begins
public record WorkerPlacement(
        int generation,
        int rank,
        int size,
        int localRank,
        int localSize,
        int crossRank,
        int crossSize,
        boolean sync) {
    public WorkerPlacement {
        if (generation < 0) {
            throw new IllegalArgumentException("generation " + generation + " is negative");
        }
        check("rank", rank, size);
        check("local rank", localRank, localSize);
        check("cross rank", crossRank, crossSize);
        if (localSize > size || crossSize > size) {
            throw new IllegalArgumentException(
                    "local size %d and cross size %d must not exceed size %d"
                            .formatted(localSize, crossSize, size));
        }
    }

    private static void check(String what, int rank, int size) {
        if (rank < 0 || rank >= size) {
            throw new IllegalArgumentException(
                    "%s %d is not in 0 to %d".formatted(what, rank, size - 1));
        }
    }
}
