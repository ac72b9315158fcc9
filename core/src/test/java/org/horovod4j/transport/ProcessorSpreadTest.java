package org.horovod4j.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.horovod4j.natives.ProcessorSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.BitSet;
import java.util.Optional;
import java.util.stream.Stream;

/// Two ranks, which one thread plays in turn.
class ProcessorSpreadTest {
    private final MemorySegment[] regions =
            Stream.generate(() -> Arena.ofAuto().allocate(RegionLayout.BYTES, 128))
                    .limit(2)
                    .toArray(MemorySegment[]::new);

    private final ManualClock clock = new ManualClock();
    private final Optional<ProcessorSet> allowed = ProcessorSet.ofCurrentThread();
    private int first;

    @BeforeEach
    void checkThatThereAreTwoProcessors() {
        BitSet processors = allowed.map(set -> set.without(new BitSet())).orElseGet(BitSet::new);
        assumeTrue(
                processors.cardinality() > 1, "two processors, and a system that can bind threads");
        first = processors.nextSetBit(0);
    }

    @AfterEach
    void useAllProcessorsAgain() {
        allowed.ifPresent(set -> assertThat(set.bindCurrentThread()).isEmpty());
    }

    @Test
    void rankLeavesProcessorOnWhichAnotherRankWaits() {
        bind(first);
        spread(0).leaveSharedProcessor();
        useAllProcessorsAgain(); // without a reason to leave the processor
        spread(1).leaveSharedProcessor();
        assertThat(processor(0)).isEqualTo(first);
        assertThat(processor(1)).isNotEqualTo(first).isNotNegative();
        assertThat(ProcessorSet.ofCurrentThread().orElseThrow().without(new BitSet()))
                .isEqualTo(allowed.orElseThrow().without(new BitSet()));
    }

    @Test
    void boundRankStays() {
        bind(first);
        spread(0).leaveSharedProcessor();
        spread(1).leaveSharedProcessor();
        assertThat(processor(1)).isEqualTo(first);
        assertThat(ProcessorSet.current()).isEqualTo(first);
    }

    private ProcessorSpread spread(int index) {
        return new ProcessorSpread(regions, index, clock);
    }

    private static void bind(int processor) {
        assertThat(ProcessorSet.of(processor).bindCurrentThread()).isEmpty();
    }

    /// The processor that a rank has published.
    private int processor(int rank) {
        return regions[rank].get(ValueLayout.JAVA_INT, RegionLayout.PROCESSOR) - 1;
    }
}
