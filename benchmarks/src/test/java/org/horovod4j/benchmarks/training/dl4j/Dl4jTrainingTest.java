package org.horovod4j.benchmarks.training.dl4j;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.benchmarks.training.TrainingMode;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.List;

class Dl4jTrainingTest {
    /// Images differ between ranks, so parameters are equal only if gradients are averaged.
    @ParameterizedTest
    @EnumSource(names = {"INDEPENDENT", "BARRIER", "SEQUENTIAL"})
    void ranksThatTrainTogetherHaveEqualWeights(TrainingMode mode) {
        World.run(
                2,
                comm -> {
                    try (Dl4jTraining training = new Dl4jTraining(comm, mode, 4, 12)) {
                        long start = training.checksum();
                        training.warmUpStep();
                        training.step();
                        assertThat(training.checksum()).isNotEqualTo(start);
                        List<Long> checksums =
                                comm.allgatherObject("checksums", training.checksum());
                        assertThat(checksums.getFirst().equals(checksums.getLast()))
                                .isEqualTo(mode.communicates());
                    }
                });
    }

    @Test
    void networkIsThatOfTheExample() {
        World.run(
                1,
                comm -> {
                    try (Dl4jTraining training =
                            new Dl4jTraining(comm, TrainingMode.INDEPENDENT, 1, 28)) {
                        assertThat(training.gradientBytes()).isEqualTo(4L * 108_874);
                    }
                });
    }
}
