package org.horovod4j.collectives;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.option.StreamingStoresChoice;
import org.junit.jupiter.api.Test;

class StreamingTrialsTest {
    private static final long BYTES = 1 << 20;

    /// Nanoseconds of an operation, without and with streaming stores.
    private long ordinary = 500_000;

    private long streamed = 100_000;

    private final StreamingTrials trials =
            new StreamingTrials(StreamingStoresChoice.AUTO, () -> true);

    /// Runs operations and returns how many of them used streaming stores.
    private int run(int operations) {
        return run(operations, BYTES);
    }

    private int run(int operations, long bytes) {
        int count = 0;
        for (int i = 0; i < operations; i++) {
            boolean streams = trials.streams(bytes);
            count += streams ? 1 : 0;
            trials.completed(bytes, streams ? streamed : ordinary);
        }
        return count;
    }

    @Test
    void startsWithOrdinaryStores() {
        assertThat(run(8)).isZero();
    }

    @Test
    void usesTheFasterWayFromTheFirstTrialOn() {
        assertThat(run(8)).isZero();
        assertThat(run(11)).isEqualTo(11);
    }

    @Test
    void triesTheSlowerWayRarely() {
        run(20_000);
        assertThat(run(10_000)).isBetween(9_900, 9_990);
        ordinary = 100_000;
        streamed = 110_000;
        run(20_000);
        assertThat(run(10_000)).isBetween(10, 100);
    }

    @Test
    void keepsTheWayThatIsNotClearlySlower() {
        run(100);
        streamed = ordinary + 4 * ordinary / 100;
        run(20_000);
        assertThat(run(10_000)).isGreaterThan(9_900);
    }

    @Test
    void changesSoonAfterOperationsBecomeSlower() {
        run(20_000);
        ordinary = 200_000;
        streamed = 400_000;
        run(6);
        assertThat(run(8)).isZero();
    }

    @Test
    void oneSlowOperationStartsNoTrial() {
        run(20_000);
        streamed = 10_000_000;
        assertThat(run(1)).isEqualTo(1);
        streamed = 100_000;
        assertThat(run(20)).isEqualTo(20);
    }

    @Test
    void newSizeBeginsWithWhatWasFoundLast() {
        run(100);
        assertThat(run(4, 64 * BYTES)).isEqualTo(4);
    }

    @Test
    void choosesForEachSize() {
        run(100);
        ordinary = 1_000;
        streamed = 2_000;
        run(100, BYTES / 64);
        assertThat(run(4, BYTES / 64)).isZero();
        assertThat(run(4, BYTES)).isEqualTo(4);
    }

    @Test
    void optionDecidesOtherwise() {
        StreamingTrials always = new StreamingTrials(StreamingStoresChoice.ALWAYS, () -> true);
        assertThat(always.streams(BYTES)).isTrue();
        StreamingTrials never = new StreamingTrials(StreamingStoresChoice.NEVER, () -> true);
        for (int i = 0; i < 100; i++) {
            assertThat(never.streams(BYTES)).isFalse();
            never.completed(BYTES, 1);
        }
    }

    @Test
    void systemWithoutStreamingStoresNeverUsesThem() {
        StreamingTrials missing = new StreamingTrials(StreamingStoresChoice.AUTO, () -> false);
        for (int i = 0; i < 100; i++) {
            assertThat(missing.streams(BYTES)).isFalse();
            missing.completed(BYTES, 1);
        }
    }
}
