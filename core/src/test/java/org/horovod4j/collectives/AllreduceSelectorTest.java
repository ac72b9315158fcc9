package org.horovod4j.collectives;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.collectives.algorithm.Allreduce;
import org.horovod4j.collectives.algorithm.DoublingAllreduce;
import org.horovod4j.collectives.algorithm.HalvingDoublingAllreduce;
import org.horovod4j.collectives.algorithm.RingAllreduce;
import org.horovod4j.collectives.algorithm.TreeAllreduce;
import org.horovod4j.option.AllreduceChoice;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class AllreduceSelectorTest {
    /// A message costs as much as 50 000 bytes.
    private static final CostModel COSTS = new CostModel(20_000, 0.4);

    private static Allreduce choose(AllreduceChoice choice, int size, long bytes) {
        return new AllreduceSelector(COSTS, choice).algorithm(size, bytes);
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 1, 4_096, 1 << 20, 1L << 33})
    void twoRanksUseDoublingForEverySize(long bytes) {
        assertThat(choose(AllreduceChoice.AUTO, 2, bytes)).isInstanceOf(DoublingAllreduce.class);
    }

    @ParameterizedTest
    @ValueSource(ints = {3, 4, 5, 8, 16, 100})
    void smallTensorsUseDoubling(int size) {
        assertThat(choose(AllreduceChoice.AUTO, size, 8)).isInstanceOf(DoublingAllreduce.class);
    }

    @ParameterizedTest
    @ValueSource(ints = {3, 4, 5, 8, 16, 100})
    void largeTensorsUseRing(int size) {
        assertThat(choose(AllreduceChoice.AUTO, size, 1L << 30)).isInstanceOf(RingAllreduce.class);
    }

    @Test
    void mediumTensorsOfManyRanksUseHalvingDoubling() {
        assertThat(choose(AllreduceChoice.AUTO, 16, 1 << 19))
                .isInstanceOf(HalvingDoublingAllreduce.class);
        assertThat(choose(AllreduceChoice.AUTO, 16, 1 << 20)).isInstanceOf(RingAllreduce.class);
    }

    @Test
    void fourRanksUseDoublingThenARing() {
        assertThat(choose(AllreduceChoice.AUTO, 4, 1 << 18)).isInstanceOf(DoublingAllreduce.class);
        assertThat(choose(AllreduceChoice.AUTO, 4, 1 << 19)).isInstanceOf(RingAllreduce.class);
    }

    @ParameterizedTest
    @CsvSource({"1, 0.001", "1, 100", "100000000, 0.001", "20000, 0.4"})
    void measuredCostsDoNotAffectRingChoice(double latency, double perByte) {
        CostModel measured = new CostModel(latency, perByte);
        for (int size : new int[] {3, 4, 16}) {
            for (long bytes = 1; bytes < 1L << 32; bytes *= 4) {
                assertThat(
                                new AllreduceSelector(measured, AllreduceChoice.AUTO)
                                                .algorithm(size, bytes)
                                        instanceof RingAllreduce)
                        .isEqualTo(
                                choose(AllreduceChoice.AUTO, size, bytes) instanceof RingAllreduce);
            }
        }
    }

    @Test
    void requestedAlgorithmOverridesCosts() {
        for (long bytes : new long[] {0, 1L << 30}) {
            assertThat(choose(AllreduceChoice.RING, 8, bytes)).isInstanceOf(RingAllreduce.class);
            assertThat(choose(AllreduceChoice.TREE, 8, bytes)).isInstanceOf(TreeAllreduce.class);
            assertThat(choose(AllreduceChoice.DOUBLING, 8, bytes))
                    .isInstanceOf(DoublingAllreduce.class);
            assertThat(choose(AllreduceChoice.HALVING_DOUBLING, 8, bytes))
                    .isInstanceOf(HalvingDoublingAllreduce.class);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {3, 4, 5, 8, 16, 100})
    void ringStartsRightAboveMaxBytesWithoutRing(int size) {
        AllreduceSelector selector = new AllreduceSelector(COSTS, AllreduceChoice.AUTO);
        for (long ringBytes : new long[] {0, 1, 70_000, 1L << 30}) {
            selector.ringBytes(ringBytes);
            long most = selector.maxBytesWithoutRing(size);
            assertThat(ringBytes == 0 || most == ringBytes - 1).isTrue();
            assertThat(selector.algorithm(size, most)).isNotInstanceOf(RingAllreduce.class);
            assertThat(selector.algorithm(size, most + 1)).isInstanceOf(RingAllreduce.class);
        }
    }

    @Test
    void noLimitWithoutRingOrWithTwoRanks() {
        for (AllreduceChoice choice : AllreduceChoice.values()) {
            assertThat(new AllreduceSelector(COSTS, choice).maxBytesWithoutRing(2))
                    .isEqualTo(Long.MAX_VALUE);
        }
        assertThat(new AllreduceSelector(COSTS, AllreduceChoice.TREE).maxBytesWithoutRing(3))
                .isEqualTo(Long.MAX_VALUE);
        assertThat(new AllreduceSelector(COSTS, AllreduceChoice.RING).maxBytesWithoutRing(3))
                .isZero();
    }

    @ParameterizedTest(name = "{0} ranks, {1} bytes")
    @CsvSource({
        // the number of steps, each with one latency, and the bytes sent in sequence
        "2, 1000, 2, 1000, 1, 1000",
        "4, 1000, 6, 1500, 2, 2000",
        "8, 800, 14, 1400, 3, 2400",
        "5, 1000, 8, 1600, 4, 4000"
    })
    void costIsLatencyPerStepPlusBytes(
            int size,
            long bytes,
            int ringSteps,
            long ringBytes,
            int doublingSteps,
            long doublingBytes) {
        CostModel model = new CostModel(1_000_000, 1);
        assertThat(model.ring(size, bytes)).isEqualTo(1e6 * ringSteps + ringBytes);
        assertThat(model.doubling(size, bytes)).isEqualTo(1e6 * doublingSteps + doublingBytes);
    }
}
