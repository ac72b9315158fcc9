package org.horovod4j.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.within;

import org.junit.jupiter.api.Test;

class LearningRateTest {
    private static final int STEPS = 10;
    private final Epochs epochs = new Epochs(STEPS);

    @Test
    void warmupGrowsFromSingleProcessRateToFullRate() {
        int ranks = 4;
        int warmupEpochs = 5;
        LearningRateWarmup warmup =
                new LearningRateWarmup(
                        0.4f, ranks, warmupEpochs, epochs, LearningRate.constant(0.3f));
        for (int epoch = 0; epoch < warmupEpochs; epoch++) {
            for (int batch = 0; batch < STEPS; batch++) {
                double time = epoch + (batch + 1.0) / STEPS;
                double factor = 1.0 / ranks * (time * (ranks - 1) / warmupEpochs + 1);
                assertThat(warmup.at(epoch * STEPS + batch + 1))
                        .isCloseTo((float) (0.4 * factor), within(1e-7f));
            }
        }
        assertThat(warmup.at(warmupEpochs * STEPS)).isCloseTo(0.4f, within(1e-7f));
        assertThat(warmup.at(warmupEpochs * STEPS + 1)).isEqualTo(0.3f);
    }

    @Test
    void oneRankNeedsNoWarmup() {
        LearningRateWarmup warmup =
                new LearningRateWarmup(0.1f, 1, 5, epochs, LearningRate.constant(0.1f));
        assertThat(warmup.at(1)).isEqualTo(0.1f);
        assertThat(warmup.at(23)).isEqualTo(0.1f);
    }

    @Test
    void staircaseChangesOncePerEpoch() {
        LearningRateSchedule schedule =
                LearningRateSchedule.of(0.8f, epochs).multiply(1, 3, 0.5).decay(3, 6, 0.1);
        assertThat(at(schedule, 0, 9)).isEqualTo(0.8f);
        assertThat(at(schedule, 1, 0)).isEqualTo(0.4f);
        assertThat(at(schedule, 2, 9)).isEqualTo(0.4f);
        assertThat(at(schedule, 3, 0)).isEqualTo(0.8f);
        assertThat(at(schedule, 4, 5)).isCloseTo(0.08f, within(1e-7f));
        assertThat(at(schedule, 5, 9)).isCloseTo(0.008f, within(1e-7f));
        assertThat(at(schedule, 60, 0)).as("stays").isCloseTo(0.008f, within(1e-7f));
    }

    @Test
    void smoothRangeChangesWithEveryBatch() {
        LearningRateSchedule schedule =
                LearningRateSchedule.of(1, epochs).smooth(0, 2, time -> 1 - time / 4);
        for (int update = 1; update <= 2 * STEPS; update++) {
            double time = (update - 1.0) / STEPS;
            assertThat(schedule.at(update)).isCloseTo((float) (1 - time / 4), within(1e-7f));
        }
        assertThat(at(schedule, 2, 0)).as("stays").isEqualTo(at(schedule, 1, 9));
    }

    @Test
    void resumeWithOtherStepsPerEpochContinuesAtEpoch() {
        LearningRateSchedule schedule =
                LearningRateSchedule.of(1, epochs).smooth(0, 9, time -> time);
        // Two epochs had 7 steps on more ranks; now an epoch has 10 steps.
        epochs.resumeAt(2, 14);
        assertThat(schedule.at(15)).isEqualTo(2);
        assertThat(schedule.at(20)).isEqualTo(2.5f);
        assertThat(schedule.at(25)).isEqualTo(3);
        assertThat(schedule.at(14)).as("last update before the resume").isEqualTo(1.9f);
    }

    @Test
    void invalidRangesAreRejected() {
        LearningRateSchedule schedule = LearningRateSchedule.of(1, epochs).multiply(0, 5, 1);
        assertThatIllegalArgumentException()
                .isThrownBy(() -> schedule.multiplyFrom(4, 2))
                .withMessageContaining("one ends before epoch 5, the next starts at epoch 4");
        assertThatIllegalArgumentException().isThrownBy(() -> schedule.multiply(7, 7, 2));
        assertThatIllegalArgumentException()
                .isThrownBy(() -> new Epochs(0))
                .withMessageContaining("at least one step");
        assertThatIllegalArgumentException()
                .isThrownBy(
                        () -> new LearningRateWarmup(1, 2, -1, epochs, LearningRate.constant(1)));
    }

    private static float at(LearningRate rate, int epoch, int batch) {
        return rate.at(epoch * STEPS + batch + 1);
    }
}
