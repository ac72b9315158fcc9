package org.horovod4j.examples;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import javax.tools.ToolProvider;

/// The examples that train with DJL, with few images and two processes each.
class DjlExamplesIT {
    private static final Pattern LOSS = Pattern.compile("epoch \\d+: loss ([0-9.]+)");

    private static final Pattern CHECKPOINT = Pattern.compile("epoch-(\\d+)\\.checkpoint");

    /// What a JVM may print by itself.
    private static final Pattern JVM_WARNING =
            Pattern.compile("Picked up .*|OpenJDK .*warning.*|\\[.*\\[warning.*");

    private static final Pattern WHOLE_PROGRAM =
            Pattern.compile("(?s)```java\n(package com\\.example;.*?)```");
    private static final Pattern MADE_UP_DATA =
            Pattern.compile("(?m)^\\$ (awk .* > points\\.csv)$");

    @TempDir private static Path digits;
    @TempDir private Path folder;

    @BeforeAll
    static void writeMnistSubset() throws IOException {
        MnistSubset.write(digits, 3000, 1000);
    }

    @Test
    void mnistLearnsAndSavesTheNetwork() throws Exception {
        Path model = folder.resolve("model");

        try (ExampleJob job =
                ExampleJob.start(
                        2, Mnist.class, "--data", digits.toString(), "--model", model.toString())) {
            job.awaitLearned();
            assertThat(job.output()).contains("images/s").contains("with 2 process(es)");
        }
        assertThat(model).isDirectoryContaining("glob:**.params");
    }

    /// The second start resumes from the first one, although an epoch has another number of steps.
    @Test
    void fashionMnistResumesAfterKillWithOtherProcessCount() throws Exception {
        Path checkpoints = folder.resolve("checkpoints");
        String[] options = {"--data", digits.toString(), "--checkpoints", checkpoints.toString()};

        try (ExampleJob job =
                ExampleJob.start(2, FashionMnist.class, append(options, "--epochs", "1000"))) {
            job.awaitLine("0 of 1000 epochs are done");
            job.awaitLine("epoch 3/1000"); // so two checkpoints are written
        }
        int done = lastCheckpoint(checkpoints);
        assertThat(done).isGreaterThanOrEqualTo(2);
        String all = Integer.toString(done + 5);
        try (ExampleJob job =
                ExampleJob.start(3, FashionMnist.class, append(options, "--epochs", all))) {
            job.awaitLearned();
            assertThat(job.output()).contains("%d of %s epochs are done".formatted(done, all));
        }
        try (ExampleJob job =
                ExampleJob.start(1, FashionMnist.class, append(options, "--epochs", all))) {
            assertThat(job.exitCode()).as(job.output()).isZero();
            assertThat(job.output()).contains("%s of %s epochs are done".formatted(all, all));
        }
        assertThat(Files.isDirectory(checkpoints.resolve("best"))).isTrue();
    }

    /// The number of the last epoch that has a checkpoint; 0 without one.
    private static int lastCheckpoint(Path checkpoints) throws IOException {
        try (Stream<Path> files = Files.list(checkpoints)) {
            return files.map(file -> CHECKPOINT.matcher(file.getFileName().toString()))
                    .filter(Matcher::matches)
                    .mapToInt(name -> Integer.parseInt(name.group(1)))
                    .max()
                    .orElse(0);
        }
    }

    @Test
    void accumulateAndClipLearnsAndClips() throws Exception {
        try (ExampleJob job =
                ExampleJob.start(
                        2,
                        AccumulateAndClip.class,
                        append(new String[] {"--data", digits.toString()}, "--limit", "0.5"))) {
            assertThat(job.exitCode()).as(job.output()).isZero();
            Matcher losses = LOSS.matcher(job.output());
            assertThat(losses.find()).isTrue();
            double first = Double.parseDouble(losses.group(1));
            assertThat(losses.find()).isTrue();
            assertThat(Double.parseDouble(losses.group(1))).isLessThan(first);
            // 3000 images are 94 batches of 16 on each of two ranks, four of which make a step.
            assertThat(job.output()).containsPattern("; [1-9]\\d* of 47 steps were clipped");
        }
    }

    /// A rank is killed in one of the first epochs, so that many epochs remain.
    @Test
    void elasticMnistLearnsAfterRankIsKilled() throws Exception {
        try (ExampleJob job =
                ExampleJob.start(
                        List.of("-np", "2", "--min-np", "1"),
                        ElasticMnist.class,
                        append(new String[] {"--data", digits.toString()}, "--epochs", "200"))) {
            job.awaitLine("2 process(es): has read all images 1 time(s)");
            job.killRank();

            job.awaitLearned();
            assertThat(job.output())
                    .contains("failed: killed by signal 9 (SIGKILL)")
                    .containsPattern("step [1-9]\\d*, [12] process\\(es\\): continues")
                    .contains("has read all images 200 time(s)");
        }
    }

    /// The features know only five of the ten digits.
    @Test
    @Tag("slow")
    void fineTuneLearnsAllDigits() throws Exception {
        String network = "data/torchscript/features.pt";
        try (ExampleJob job =
                ExampleJob.start(
                        2,
                        FineTune.class,
                        "--data",
                        digits.toString(),
                        "--network",
                        network,
                        "--epochs",
                        "2")) {
            job.awaitLearned();
            assertThat(job.output()).contains("with 2 process(es)");
        }
    }

    /// The second start finds the files of the first, and shifts the images.
    @Test
    @Tag("slow")
    void largeDataLearnsFromFiles() throws Exception {
        Path files = folder.resolve("files");
        String[] options = {
            "--data", digits.toString(), "--files", files.toString(), "--epochs", "4"
        };
        for (String[] each : List.of(options, append(options, "--augment"))) {
            try (ExampleJob job = ExampleJob.start(2, LargeData.class, each)) {
                job.awaitLearned();
                assertThat(job.output()).contains("from 3000 images in files");
            }
        }
    }

    /// With the data that the page makes.
    @Test
    void wholeProgramOfTheDjlPageTrains() throws Exception {
        String page = Files.readString(Path.of("../docs/djl.md"));
        Matcher program = WHOLE_PROGRAM.matcher(page);
        Matcher data = MADE_UP_DATA.matcher(page);
        assertThat(program.find()).isTrue();
        assertThat(data.find()).isTrue();
        Path source = Files.writeString(folder.resolve("Train.java"), program.group(1));
        Path classes = folder.resolve("classes");
        int compiled =
                ToolProvider.getSystemJavaCompiler()
                        .run(
                                null,
                                System.out,
                                System.err,
                                "-cp",
                                TestJvm.CLASS_PATH,
                                "-d",
                                classes.toString(),
                                source.toString());
        assertThat(compiled).isZero();
        Process awk =
                new ProcessBuilder("sh", "-c", data.group(1)).directory(folder.toFile()).start();
        assertThat(awk.waitFor()).isZero();

        TestJvm train =
                new TestJvm(
                        List.of(),
                        TestJvm.CLASS_PATH + File.pathSeparator + classes,
                        "com.example.Train",
                        List.of(folder.resolve("points.csv").toString()));
        try (ExampleJob job = ExampleJob.start(List.of("-np", "2"), train)) {
            assertThat(job.exitCode()).as(job.output()).isZero();
            assertThat(job.output())
                    .containsPattern("epoch 20/20 done .* validation Accuracy (0\\.[89]|1\\.)")
                    .contains("trained on 80000 points");
        }
    }

    /// A batch of one image on each of two processes, with gradients in 16 bits.
    @Test
    void syntheticBenchmarkPrintsThroughput() throws Exception {
        try (ExampleJob job =
                ExampleJob.start(
                        2,
                        SyntheticBenchmark.class,
                        "--batch-size",
                        "1",
                        "--num-warmup-batches",
                        "0",
                        "--num-batches-per-iter",
                        "1",
                        "--num-iters",
                        "1",
                        "--model",
                        "resnet50",
                        "--no-cuda",
                        "--fp16-allreduce")) {
            assertThat(job.exitCode()).as(job.output()).isZero();
            assertThat(job.output())
                    .contains("ResNet-50, 1 image(s) a batch, 2 process(es)")
                    .contains("warming up: 0 batch(es)")
                    .containsPattern("iteration 1: \\d+\\.\\d\\d images/s on each process")
                    .containsPattern("images/s on all 2 process\\(es\\): \\d+\\.\\d\\d ± 0\\.00")
                    .doesNotContain("iteration 2");
        }
    }

    @ParameterizedTest
    @ValueSource(
            classes = {
                Mnist.class,
                FashionMnist.class,
                AccumulateAndClip.class,
                ElasticMnist.class,
                SyntheticBenchmark.class,
                FineTune.class,
                LargeData.class,
                SkipGram.class,
                TensorFlowMnist.class,
                TensorFlowEstimator.class,
                WordVectors.class,
                TensorFlowSyntheticBenchmark.class,
                AdasumSmallModel.class,
                MnistByHand.class
            })
    void invalidArgumentExitsWithOneLineError(Class<?> example) throws Exception {
        ProcessBuilder alone =
                new ProcessBuilder(TestJvm.of(example, "--wrong").shortLived().words());
        Process process = alone.redirectErrorStream(true).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);

        assertThat(process.waitFor()).isEqualTo(2);
        assertThat(output.lines().filter(line -> !JVM_WARNING.matcher(line).matches()))
                .singleElement()
                .asString()
                .startsWith(example.getSimpleName() + ": cannot make sense of '--wrong'; options");
    }

    private static String[] append(String[] options, String... more) {
        String[] all = Arrays.copyOf(options, options.length + more.length);
        System.arraycopy(more, 0, all, options.length, more.length);
        return all;
    }
}
