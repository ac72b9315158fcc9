package org.horovod4j.examples;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;

/// The examples that train with TensorFlow Java, with few data and two processes each.
class TensorFlowExamplesIT {
    @TempDir private static Path digits;
    @TempDir private Path folder;

    @BeforeAll
    static void writeMnistSubset() throws IOException {
        MnistSubset.write(digits, 3000, 1000);
    }

    @Test
    void mnistLearnsAndSavesTheNetwork() throws Exception {
        Path model = folder.resolve("model");
        assertThat(trainOnDigits(TensorFlowMnist.class, model))
                .contains("images/s")
                .contains("with 2 process(es)");
        assertThat(model.resolve("mnist.index")).exists();
    }

    @Test
    void estimatorLearnsPredictsAndExports() throws Exception {
        Path model = folder.resolve("model");
        assertThat(trainOnDigits(TensorFlowEstimator.class, model))
                .contains("with 2 process(es), after 69 steps")
                .containsPattern("some test images show (\\d ){9}\\d");
        assertThat(model).isDirectoryContaining("glob:**/step-*.checkpoint");
        assertThat(model).isDirectoryContaining("glob:**/exported-*");
    }

    /// Three epochs.
    ///
    /// @return the output
    private static String trainOnDigits(Class<?> example, Path model) throws Exception {
        try (ExampleJob job =
                ExampleJob.start(
                        2, example, "--data", digits.toString(), "--model", model.toString())) {
            job.awaitLearned();
            return job.output();
        }
    }

    /// A text with two groups of twelve words, which meet only once.
    @Test
    void wordVectorsFindNeighbours() throws Exception {
        Path text =
                Files.writeString(folder.resolve("text"), randomWords("one") + randomWords("two"));
        try (ExampleJob job =
                ExampleJob.start(
                        2,
                        WordVectors.class,
                        "--text",
                        text.toString(),
                        "--epochs",
                        "40",
                        "--dimensions",
                        "8")) {
            assertThat(job.exitCode()).as(job.output()).isZero();
            assertThat(job.output())
                    .contains("the last step changed 24 of 24 rows")
                    .containsPattern("one..: \\[one.., one.., one.., one..]")
                    .doesNotContainPattern("one..: .*two");
        }
    }

    private static String randomWords(String group) {
        return new Random(1)
                .ints(1000, 'a', 'a' + 12)
                .mapToObj(letter -> group + Character.toString(letter).repeat(2))
                .collect(Collectors.joining(" ", " ", " "));
    }

    @Test
    void syntheticBenchmarkRunsResNet() throws Exception {
        assertThat(runSyntheticBenchmark("resnet50", "--fp16-allreduce"))
                .contains("ResNet-50, 1 image(s) a batch, 2 process(es)");
    }

    /// Its gradients have 550 MB, its first dense layer alone 400 MB.
    @Test
    @Tag("slow")
    void syntheticBenchmarkRunsVgg() throws Exception {
        assertThat(runSyntheticBenchmark("vgg16"))
                .contains("VGG-16, 1 image(s) a batch, 2 process(es)");
    }

    /// A step with one image on each of two processes.
    ///
    /// @return the output
    private static String runSyntheticBenchmark(String model, String... options) throws Exception {
        List<String> arguments = new ArrayList<>(List.of("--model", model, "--no-cuda"));
        for (String option : List.of("--batch-size", "--num-batches-per-iter", "--num-iters")) {
            arguments.addAll(List.of(option, "1"));
        }
        arguments.addAll(List.of("--num-warmup-batches", "0"));
        arguments.addAll(List.of(options));
        try (ExampleJob job =
                ExampleJob.start(
                        2, TensorFlowSyntheticBenchmark.class, arguments.toArray(String[]::new))) {
            assertThat(job.exitCode()).as(job.output()).isZero();
            assertThat(job.output())
                    .contains("warming up: 0 batch(es)")
                    .containsPattern("images/s on all 2 process\\(es\\): \\d+\\.\\d\\d ± 0\\.00");
            return job.output();
        }
    }
}
