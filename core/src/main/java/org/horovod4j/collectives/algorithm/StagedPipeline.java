package org.horovod4j.collectives.algorithm;

import org.horovod4j.transport.LocalGroup;
import org.horovod4j.transport.RegionLayout;
import org.horovod4j.transport.RegionLayout.Counter;

/// Runs a collective within a host in rounds through the stages. Three rounds overlap: while one is
/// packed, the previous one is reduced and the one before that is unpacked. If reducing takes
/// messages to other hosts, four rounds overlap: messages of two rounds are in flight.
///
/// A stage is packed again [RegionLayout#STAGES] rounds later, after all ranks have unpacked it.
/// All members run the same number of rounds, so their counters are equal between collectives.
final class StagedPipeline {
    private final LocalGroup local;

    StagedPipeline(LocalGroup local) {
        this.local = local;
    }

    void run(long rounds, Phases phases) {
        long base = local.counterValue(Counter.PACKED);
        int lag = phases.sendsMessages() ? 1 : 0;
        for (long step = 0; step < rounds + 2 + lag; step++) {
            if (step < rounds) {
                local.awaitAll(Counter.UNPACKED, base + step - RegionLayout.STAGES + 1);
                phases.pack(step, local.stageOffset(base + step));
                local.increment(Counter.PACKED);
            }
            if (step >= 1 && step <= rounds) {
                long round = step - 1;
                phases.reduce(round, local.stageOffset(base + round), base + round + 1);
            }
            if (step >= 1 + lag && step <= rounds + lag) {
                phases.finishReduce(step - 1 - lag);
                local.increment(Counter.REDUCED);
            }
            if (step >= 2 + lag) {
                long round = step - 2 - lag;
                phases.unpack(round, local.stageOffset(base + round), base + round + 1);
                local.increment(Counter.UNPACKED);
            }
        }
    }

    /// The number of bytes in a round of an array of `size` bytes, if each round is a whole stage.
    static long bytesInRound(long size, long round) {
        return Math.clamp(size - round * RegionLayout.STAGE_BYTES, 0, RegionLayout.STAGE_BYTES);
    }

    /// The work of a rank in each round; `stage` is the offset of the round's stage in every
    /// region.
    interface Phases {
        /// Writes this rank's data to its stage.
        void pack(long round, long stage);

        /// Processes the packed data, or starts to. Waits for counter PACKED to reach `packed`
        /// before it reads.
        default void reduce(long round, long stage, long packed) {}

        /// Waits until the data is processed.
        default void finishReduce(long round) {}

        /// Whether [#reduce] starts messages that take a while.
        default boolean sendsMessages() {
            return false;
        }

        /// Reads the stages. Waits for PACKED or REDUCED to reach `counted` before it reads.
        void unpack(long round, long stage, long counted);
    }
}
