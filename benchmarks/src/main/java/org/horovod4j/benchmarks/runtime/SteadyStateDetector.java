package org.horovod4j.benchmarks.runtime;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/// Says how long to warm up: until blocks of steps take as long as the blocks before them.
///
/// A fixed number of steps would not do. The JIT compiler works beside the ranks, on the same cores,
/// and the runtime itself learns: its cache fills, its plan locks.
final class SteadyStateDetector {
    private static final double BLOCK_SECONDS = 0.2;
    private static final double SECONDS_MIN = 1;

    /// On a restless machine times never settle; then this is as warm as it gets.
    private static final double SECONDS_MAX = 5;

    private static final int STABLE_BLOCKS = 3;
    private static final double STABLE_RATIO = 1.1;

    private final List<Double> blocks = new ArrayList<>();
    private double elapsedSeconds;
    private double secondsPerStep;
    private long nextBlockSteps = 1;

    boolean isOver() {
        return elapsedSeconds >= SECONDS_MAX || (elapsedSeconds >= SECONDS_MIN && isStable());
    }

    private boolean isStable() {
        if (blocks.size() < STABLE_BLOCKS) {
            return false;
        }
        List<Double> last = blocks.subList(blocks.size() - STABLE_BLOCKS, blocks.size());
        return Collections.max(last) <= STABLE_RATIO * Collections.min(last);
    }

    /// How many steps make the next block.
    long nextBlockSteps() {
        return nextBlockSteps;
    }

    /// Takes note of a block. Blocks that are too short to judge by double the next one.
    void recordBlock(double seconds) {
        elapsedSeconds += seconds;
        secondsPerStep = seconds / nextBlockSteps;
        if (seconds < BLOCK_SECONDS) {
            nextBlockSteps *= 2;
        } else {
            blocks.add(secondsPerStep);
        }
    }

    /// Seconds of one step in the last block.
    double secondsPerStep() {
        return secondsPerStep;
    }
}
