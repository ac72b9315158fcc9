package org.horovod4j.elastic.registry;

/// Who a worker is in one generation of an elastic job.
///
/// @param generation the world this place is in, numbered by the driver from 0 upward
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
            throw new IllegalArgumentException("generation " + generation + ": they begin at 0");
        }
        check("rank", rank, size);
        check("local rank", localRank, localSize);
        check("cross rank", crossRank, crossSize);
        if (localSize > size || crossSize > size) {
            throw new IllegalArgumentException(
                    "a local size of %d and a cross size of %d in a world of %d"
                            .formatted(localSize, crossSize, size));
        }
    }

    private static void check(String what, int rank, int size) {
        if (rank < 0 || rank >= size) {
            throw new IllegalArgumentException("no %s %d among %d".formatted(what, rank, size));
        }
    }
}
