package org.horovod4j.benchmarks.training.tensorflow;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.benchmarks.training.NetworkTraining;
import org.horovod4j.benchmarks.training.TrainingMode;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.List;

class TensorFlowTrainingTest {
    /// Images differ between ranks, so variables are equal only if gradients are averaged.
    @ParameterizedTest
    @EnumSource(names = {"INDEPENDENT", "BARRIER", "OVERLAP", "SEQUENTIAL"})
    void ranksThatTrainTogetherHaveEqualWeights(TrainingMode mode) {
        World.run(
                2,
                comm -> {
                    try (TensorFlowTraining training = new TensorFlowTraining(comm, mode, 4, 12)) {
                        long start = training.checksum();
                        training.warmUpStep();
                        long waited = training.step();
                        assertThat(waited == NetworkTraining.UNKNOWN)
                                .isEqualTo(mode == TrainingMode.OVERLAP);
                        assertThat(training.checksum()).isNotEqualTo(start);
                        List<Long> checksums =
                                comm.allgatherObject("checksums", training.checksum());
                        assertThat(checksums.getFirst().equals(checksums.getLast()))
                                .isEqualTo(mode.communicates());
                    }
                });
    }

    @Test
    void networkIsThatOfTheOtherFramework() {
        World.run(
                1,
                comm -> {
                    try (TensorFlowTraining training =
                            new TensorFlowTraining(comm, TrainingMode.INDEPENDENT, 1, 28)) {
                        assertThat(training.gradientBytes()).isEqualTo(4L * 1_199_882);
                    }
                });
    }
}
