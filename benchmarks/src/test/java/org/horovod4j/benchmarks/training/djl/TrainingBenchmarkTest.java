package org.horovod4j.benchmarks.training.djl;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.optim.OverlapTiming;
import org.horovod4j.optim.overlap.Overlap;
import org.junit.jupiter.api.Test;

import java.time.Duration;

class TrainingBenchmarkTest {
    @Test
    void describesTheTimingOfAStep() {
        OverlapTiming overlapTiming =
                new OverlapTiming(10, 1_449, 161, Duration.ofMillis(2_000), Duration.ofMillis(55));

        assertThat(DjlTrainingBenchmark.describe(overlapTiming))
                .isEqualTo(
                        "1449 of 1610 gradients launched by backward passes;"
                                + " in a step at most 200.0 ms hidden, 5.5 ms exposed");
    }

    @Test
    void describesTheOptimizersChoice() {
        OverlapTiming overlapTiming = new OverlapTiming(1, 0, 6, Duration.ZERO, Duration.ZERO);

        assertThat(
                        DjlTrainingBenchmark.describe(
                                NeuralNetwork.MNIST,
                                2,
                                new Overlap(false, "all are busy", overlapTiming)))
                .isEqualTo("mnist, 2 ranks: `end`, as all are busy");
        assertThat(
                        DjlTrainingBenchmark.describe(
                                NeuralNetwork.MNIST, 4, new Overlap(true, "", overlapTiming)))
                .isEqualTo("mnist, 4 ranks: `overlap`");
    }
}
