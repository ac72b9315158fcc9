package org.horovod4j.benchmarks.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import org.horovod4j.Shape;
import org.horovod4j.benchmarks.runtime.Parameter;
import org.horovod4j.benchmarks.runtime.Placement;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.lang.foreign.ValueLayout;
import java.util.List;

class KernelTrainingTest {
    private static final Layers LAYERS =
            new Layers(
                    List.of(
                            new Parameter("last", Shape.of(3, 5)),
                            new Parameter("first", Shape.of(1009))),
                    1,
                    List.of(2L, 3L));

    @ParameterizedTest(name = "{0} ranks, {1}")
    @CsvSource({"1, NATIVE", "2, NATIVE", "2, SLICED", "3, SHARED"})
    void everyWayLeavesTheWeightsThatItsAveragesMake(int size, Placement placement) {
        World.run(
                size,
                comm -> {
                    KernelTraining training = new KernelTraining(comm, placement, LAYERS);
                    for (Way way : KernelTraining.WAYS) {
                        for (int step = 0; step < 5; step++) {
                            assertThat(training.step(way)).isNotNegative();
                        }
                        training.verify();
                    }
                    assertThat(training.gradientBytes()).isEqualTo((15 + 1009) * 4);
                });
    }

    @Test
    void hasNothingToChoose() {
        World.run(
                1,
                comm -> {
                    KernelTraining training = new KernelTraining(comm, Placement.NATIVE, LAYERS);
                    assertThatIllegalArgumentException()
                            .isThrownBy(() -> training.step(Way.DEFAULT))
                            .withMessageContaining("overlap, end]");
                });
    }

    @Test
    void aWrongWeightIsFound() {
        World.run(
                1,
                comm -> {
                    KernelTraining training = new KernelTraining(comm, Placement.NATIVE, LAYERS);
                    training.step(Way.ALONE);
                    training.weight(0).segment().setAtIndex(ValueLayout.JAVA_FLOAT, 7, 0);
                    assertThatIllegalStateException()
                            .isThrownBy(training::verify)
                            .withMessageContaining("rank 0 of 1")
                            .withMessageContaining("element 7 of 'last' is 0.0");
                });
    }
}
