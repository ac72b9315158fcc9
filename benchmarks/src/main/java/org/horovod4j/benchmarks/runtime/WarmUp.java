package org.horovod4j.benchmarks.runtime;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/// Says how long to warm up: until blocks of steps take as long as the blocks before them.
///
/// A fixed number of steps would not do. The JIT compiler works beside the ranks, on the same cores,
/// and the runtime itself learns: its cache fills, its plan locks.
final class WarmUp {
    private static final double BLOCK_SECONDS = 0.2;
    private static final double SECONDS_MIN = 1;

    /// On a restless machine times never settle; then this is as warm as it gets.
    private static final double SECONDS_MAX = 5;

    private static final int ALIKE_BLOCKS = 3;
    private static final double ALIKE = 1.1;

    private final List<Double> blocks = new ArrayList<>();
    private double spent;
    private double each;
    private long steps = 1;

    boolean isOver() {
        return spent >= SECONDS_MAX || (spent >= SECONDS_MIN && isStable());
    }

    private boolean isStable() {
        if (blocks.size() < ALIKE_BLOCKS) {
            return false;
        }
        List<Double> last = blocks.subList(blocks.size() - ALIKE_BLOCKS, blocks.size());
        return Collections.max(last) <= ALIKE * Collections.min(last);
    }

    /// How many steps make the next block.
    long steps() {
        return steps;
    }

    /// Takes note of a block. Blocks that are too short to judge by double the next one.
    void ran(double seconds) {
        spent += seconds;
        each = seconds / steps;
        if (seconds < BLOCK_SECONDS) {
            steps *= 2;
        } else {
            blocks.add(each);
        }
    }

    /// Seconds of one step in the last block.
    double secondsPerStep() {
        return each;
    }
}
