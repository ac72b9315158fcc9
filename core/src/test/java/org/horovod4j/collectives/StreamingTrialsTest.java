package org.horovod4j.collectives;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.DataType;
import org.horovod4j.option.StreamingStoresChoice;
import org.horovod4j.spi.FusedTensors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.util.Arrays;
import java.util.Random;

class StreamingTrialsTest {
    private static final FusedTensors MEBIBYTE = tensors(1, 1 << 20);

    /// Nanoseconds of an operation, without and with streaming stores.
    private long ordinary = 500_000;

    private long streamed = 100_000;

    private final StreamingTrials trials =
            new StreamingTrials(StreamingStoresChoice.AUTO, () -> true);

    /// Runs operations and returns how many of them used streaming stores.
    private int run(int operations) {
        return run(operations, MEBIBYTE);
    }

    private int run(int operations, FusedTensors tensors) {
        int count = 0;
        for (int i = 0; i < operations; i++) {
            boolean streams = trials.usesStreamingStores(tensors);
            count += streams ? 1 : 0;
            trials.completed(tensors, streams ? streamed : ordinary);
        }
        return count;
    }

    @Test
    void startsWithOrdinaryStores() {
        assertThat(run(8)).isZero();
    }

    @Test
    void usesTheFasterMethodFromTheFirstTrialOn() {
        assertThat(run(8)).isZero();
        assertThat(run(3)).isEqualTo(3);
        assertThat(run(3)).isZero();
        assertThat(run(8)).isEqualTo(8);
    }

    @Test
    void triesTheSlowerMethodRarely() {
        run(20_000);
        assertThat(run(10_000)).isBetween(9_900, 9_990);
        ordinary = 100_000;
        streamed = 110_000;
        run(20_000);
        assertThat(run(10_000)).isBetween(10, 1_000);
    }

    @Test
    void prefersOrdinaryStoresUnlessStreamingOnesAreMuchFaster() {
        ordinary = 105_000;
        assertThat(run(1_000)).isLessThan(100); // only trials
        ordinary = 120_000;
        run(1_000);
        assertThat(run(1_000)).isGreaterThan(900);
        ordinary = 99_000;
        run(1_000);
        assertThat(run(1_000)).isLessThan(100);
    }

    @Test
    void changesSoonAfterOperationsBecomeSlower() {
        run(20_000);
        ordinary = 200_000;
        streamed = 400_000;
        run(300);
        assertThat(run(400)).isLessThan(20);
    }

    @Test
    void oneSlowOperationStartsNoTrial() {
        run(20_000);
        streamed = 10_000_000;
        assertThat(run(1)).isEqualTo(1);
        streamed = 100_000;
        assertThat(run(20)).isEqualTo(20);
    }

    @ParameterizedTest
    @ValueSource(doubles = {1.02, 1.2, 2, 5})
    void costsLittleMoreThanTheFasterMethod(double slowdown) {
        Random random = new Random(4);
        double spent = 0;
        double least = 0;
        for (int i = 0; i < 30_000; i++) {
            double cost = 100_000 + random.nextInt(20_000);
            if (random.nextInt(10) == 0) {
                cost *= 20; // interrupted
            }
            least += cost;
            double taken = trials.usesStreamingStores(MEBIBYTE) ? cost : slowdown * cost;
            spent += taken;
            trials.completed(MEBIBYTE, (long) taken);
        }
        assertThat(spent / least).isLessThan(1.04);
    }

    /// Operations of one size may cost differently, as those of several data types do.
    @Test
    void findsTheFasterMethodOfDifferentOperations() {
        double spent = 0;
        double least = 0;
        for (int i = 0; i < 30_000; i++) {
            double cost = i % 6 == 0 ? 100_000 : 200_000;
            least += cost;
            double taken = trials.usesStreamingStores(MEBIBYTE) ? cost : 5 * cost;
            spent += taken;
            trials.completed(MEBIBYTE, (long) taken);
        }
        assertThat(spent / least).isLessThan(1.1);
    }

    @Test
    void newSizeBeginsWithWhatWasFoundLast() {
        run(100);
        assertThat(run(4, tensors(1, 1 << 26))).isEqualTo(4);
    }

    @Test
    void choosesForEachSize() {
        run(100);
        ordinary = 1_000;
        streamed = 2_000;
        run(100, tensors(1, 1 << 14));
        assertThat(run(4, tensors(1, 1 << 14))).isZero();
        assertThat(run(4, MEBIBYTE)).isEqualTo(4);
    }

    @Test
    void choosesForManySmallTensorsSeparately() {
        run(1_000);
        streamed = 600_000;
        run(1_000, tensors(1024, 1024));
        streamed = 100_000;
        assertThat(run(4, MEBIBYTE)).isEqualTo(4);
        assertThat(run(4, tensors(1024, 1024))).isZero();
    }

    private static FusedTensors tensors(int count, long byteSize) {
        long[] elementCounts = new long[count];
        Arrays.fill(elementCounts, byteSize);
        return new FusedTensors(DataType.INT8, elementCounts);
    }

    @Test
    void optionDecidesOtherwise() {
        StreamingTrials always = new StreamingTrials(StreamingStoresChoice.ALWAYS, () -> true);
        for (int i = 0; i < 100; i++) {
            assertThat(always.usesStreamingStores(MEBIBYTE)).isTrue();
            always.completed(MEBIBYTE, 1);
        }
        StreamingTrials never = new StreamingTrials(StreamingStoresChoice.NEVER, () -> true);
        for (int i = 0; i < 100; i++) {
            assertThat(never.usesStreamingStores(MEBIBYTE)).isFalse();
            never.completed(MEBIBYTE, 1);
        }
    }

    @Test
    void systemWithoutStreamingStoresNeverUsesThem() {
        StreamingTrials forced = new StreamingTrials(StreamingStoresChoice.ALWAYS, () -> false);
        assertThat(forced.usesStreamingStores(MEBIBYTE)).isFalse();
        StreamingTrials missing = new StreamingTrials(StreamingStoresChoice.AUTO, () -> false);
        for (int i = 0; i < 10_000; i++) {
            assertThat(missing.usesStreamingStores(MEBIBYTE)).isFalse();
            missing.completed(MEBIBYTE, 1);
        }
    }
}
