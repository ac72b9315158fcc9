package org.horovod4j.collectives.algorithm;

import org.horovod4j.transport.Neighbourhood;
import org.horovod4j.transport.Region;
import org.horovod4j.transport.Region.Counter;

/// Runs an operation of ranks on one host round by round through their stages, three rounds at a
/// time: while one is packed, the one before is reduced and the one before that unpacked.
///
/// A stage is packed again only when everybody has unpacked it, [Region#STAGES] rounds later. All
/// members run equally many rounds, so their counters stay level from operation to operation.
final class StagedRounds {
    private final Neighbourhood near;

    StagedRounds(Neighbourhood near) {
        this.near = near;
    }

    void run(long rounds, Work work) {
        long base = near.counted(Counter.PACKED);
        for (long turn = 0; turn < rounds + 2; turn++) {
            if (turn < rounds) {
                near.awaitAll(Counter.UNPACKED, base + turn - Region.STAGES + 1);
                work.pack(turn, near.stage(base + turn));
                near.count(Counter.PACKED);
            }
            if (turn >= 1 && turn <= rounds) {
                long round = turn - 1;
                work.reduce(round, near.stage(base + round), base + round + 1);
                near.count(Counter.REDUCED);
            }
            if (turn >= 2) {
                long round = turn - 2;
                work.unpack(round, near.stage(base + round), base + round + 1);
                near.count(Counter.UNPACKED);
            }
        }
    }

    /// How many of `size` bytes go into a round, when each takes a whole stage.
    static long piece(long size, long round) {
        return Math.clamp(size - round * Region.STAGE_BYTES, 0, Region.STAGE_BYTES);
    }

    /// What a rank does in each round; `stage` is the offset of the round's stage in every region.
    interface Work {
        /// Fills this rank's stage.
        void pack(long round, long stage);

        /// Works on what all have packed; waits for counter PACKED to reach `packed` where it
        /// reads.
        default void reduce(long round, long stage, long packed) {}

        /// Reads the stages; waits for PACKED or REDUCED to reach `counted` where it reads.
        void unpack(long round, long stage, long counted);
    }
}
