package org.horovod4j.benchmarks.runtime;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/// Determines the length of the warm-up: until a block of steps takes as long as the previous
/// blocks.
///
/// A fixed number of steps is not sufficient. The JIT compiler runs on the same cores as the ranks,
/// and the runtime needs some steps to fill its cache and lock its plan.
final class SteadyStateDetector {
    private static final double BLOCK_SECONDS = 0.2;
    private static final double SECONDS_MIN = 1;

    /// The maximum length of the warm-up, for a machine on which times never stabilize.
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

    /// The number of steps in the next block.
    long nextBlockSteps() {
        return nextBlockSteps;
    }

    /// Records the time of a block. If the block was too short to measure, the next block is twice
    /// as long.
    void recordBlock(double seconds) {
        elapsedSeconds += seconds;
        secondsPerStep = seconds / nextBlockSteps;
        if (seconds < BLOCK_SECONDS) {
            nextBlockSteps *= 2;
        } else {
            blocks.add(secondsPerStep);
        }
    }

    /// Seconds per step in the last block.
    double secondsPerStep() {
        return secondsPerStep;
    }
}
