package org.horovod4j.examples;

import static org.assertj.core.api.Assertions.assertThat;

import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;

/// The examples that train with Deeplearning4j, with few data and two processes each.
class Dl4jExamplesIT {
    @TempDir private static Path digits;
    @TempDir private Path folder;

    @BeforeAll
    static void writeMnistSubset() throws IOException {
        MnistSubset.write(digits, 2000, 500);
    }

    @Test
    void mnistLearnsAndSavesTheNetwork() throws Exception {
        Path model = folder.resolve("model");
        try (ExampleJob job =
                ExampleJob.start(
                        2,
                        Dl4jMnist.class,
                        "--epochs",
                        "2",
                        "--data",
                        digits.toString(),
                        "--model",
                        model.toString())) {
            assertLearned(job);
        }
        assertThat(MultiLayerNetwork.load(model.resolve("mnist.zip").toFile(), true).numParams())
                .isEqualTo(
                        Dl4jMnist.network(new org.nd4j.linalg.learning.config.Adam()).numParams());
    }

    @Test
    void aNetworkOfKerasLearnsAndIsSavedForPlainDl4j() throws Exception {
        Path model = folder.resolve("model");
        try (ExampleJob job =
                ExampleJob.start(
                        2,
                        KerasMnist.class,
                        "--epochs",
                        "2",
                        "--data",
                        digits.toString(),
                        "--network",
                        Path.of("data", "keras", "mnist.keras").toAbsolutePath().toString(),
                        "--model",
                        model.toString())) {
            assertLearned(job);
        }
        assertThat(model.resolve("checkpoints")).isDirectoryContaining("glob:**/epoch-0002.*");
        assertThat(MultiLayerNetwork.load(model.resolve("best.zip").toFile(), true).getEpochCount())
                .isPositive();
    }

    private static void assertLearned(ExampleJob job) throws Exception {
        job.awaitLearned();
        assertThat(job.output()).contains("images/s", "with 2 process(es)");
    }
}
