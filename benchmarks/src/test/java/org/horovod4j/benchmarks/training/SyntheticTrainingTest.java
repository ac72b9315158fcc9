package org.horovod4j.benchmarks.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import org.horovod4j.Shape;
import org.horovod4j.benchmarks.runtime.GradientMemory;
import org.horovod4j.benchmarks.runtime.ModelParameter;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.lang.foreign.ValueLayout;
import java.util.List;

class SyntheticTrainingTest {
    private static final LayerCosts LAYERS =
            new LayerCosts(
                    List.of(
                            new ModelParameter("last", Shape.of(3, 5)),
                            new ModelParameter("first", Shape.of(1009))),
                    1,
                    List.of(2L, 3L));

    @ParameterizedTest(name = "{0} ranks, {1}")
    @CsvSource({"1, NATIVE", "2, NATIVE", "2, SLICED", "3, SHARED"})
    void everyModeProducesTheExpectedWeights(int size, GradientMemory gradientMemory) {
        World.run(
                size,
                comm -> {
                    SyntheticTraining training =
                            new SyntheticTraining(comm, gradientMemory, LAYERS);
                    for (TrainingMode trainingMode : SyntheticTraining.MODES) {
                        for (int step = 0; step < 5; step++) {
                            assertThat(training.step(trainingMode)).isNotNegative();
                        }
                        training.verify();
                    }
                    assertThat(training.gradientBytes()).isEqualTo((15 + 1009) * 4);
                });
    }

    @Test
    void defaultModeIsRejected() {
        World.run(
                1,
                comm -> {
                    SyntheticTraining training =
                            new SyntheticTraining(comm, GradientMemory.NATIVE, LAYERS);
                    assertThatIllegalArgumentException()
                            .isThrownBy(() -> training.step(TrainingMode.DEFAULT))
                            .withMessageContaining("overlap, sequential]");
                });
    }

    @Test
    void verifyFailsOnAWrongWeight() {
        World.run(
                1,
                comm -> {
                    SyntheticTraining training =
                            new SyntheticTraining(comm, GradientMemory.NATIVE, LAYERS);
                    training.step(TrainingMode.INDEPENDENT);
                    training.weight(0).segment().setAtIndex(ValueLayout.JAVA_FLOAT, 7, 0);
                    assertThatIllegalStateException()
                            .isThrownBy(training::verify)
                            .withMessageContaining("rank 0 of 1")
                            .withMessageContaining("element 7 of 'last' is 0.0");
                });
    }
}
