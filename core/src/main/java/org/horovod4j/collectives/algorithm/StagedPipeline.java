package org.horovod4j.collectives.algorithm;

import org.horovod4j.transport.LocalGroup;
import org.horovod4j.transport.RegionLayout;
import org.horovod4j.transport.RegionLayout.Counter;

/// Runs an operation of ranks on one host round by round through their stages, three rounds at a
/// time: while one is packed, the one before is reduced and the one before that unpacked.
///
/// A stage is packed again only when everybody has unpacked it, [RegionLayout#STAGES] rounds later. All
/// members run equally many rounds, so their counters stay level from operation to operation.
final class StagedPipeline {
    private final LocalGroup local;

    StagedPipeline(LocalGroup local) {
        this.local = local;
    }

    void run(long rounds, Phases phases) {
        long base = local.counterValue(Counter.PACKED);
        for (long turn = 0; turn < rounds + 2; turn++) {
            if (turn < rounds) {
                local.awaitAll(Counter.UNPACKED, base + turn - RegionLayout.STAGES + 1);
                phases.pack(turn, local.stageOffset(base + turn));
                local.increment(Counter.PACKED);
            }
            if (turn >= 1 && turn <= rounds) {
                long round = turn - 1;
                phases.reduce(round, local.stageOffset(base + round), base + round + 1);
                local.increment(Counter.REDUCED);
            }
            if (turn >= 2) {
                long round = turn - 2;
                phases.unpack(round, local.stageOffset(base + round), base + round + 1);
                local.increment(Counter.UNPACKED);
            }
        }
    }

    /// How many of `size` bytes go into a round, when each takes a whole stage.
    static long bytesInRound(long size, long round) {
        return Math.clamp(size - round * RegionLayout.STAGE_BYTES, 0, RegionLayout.STAGE_BYTES);
    }

    /// What a rank does in each round; `stage` is the offset of the round's stage in every region.
    interface Phases {
        /// Fills this rank's stage.
        void pack(long round, long stage);

        /// Works on what all have packed; waits for counter PACKED to reach `packed` where it
        /// reads.
        default void reduce(long round, long stage, long packed) {}

        /// Reads the stages; waits for PACKED or REDUCED to reach `counted` where it reads.
        void unpack(long round, long stage, long counted);
    }
}
