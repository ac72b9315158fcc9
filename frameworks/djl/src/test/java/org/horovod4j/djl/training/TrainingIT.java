package org.horovod4j.djl.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.horovod4j.djl.training.TrainingJob.Result;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/// Training in several processes with every listener of this package.
class TrainingIT {
    @TempDir private Path folder;

    @Test
    void trainsResumesWithOtherRankCountAndModelLoadsInPlainDjl() throws Exception {
        List<Result> four = train(4, folder, 2);
        assertRanksAgree(four);
        assertMetricsCoverAllRanks(four);
        assertProgressIsPrinted(four);
        assertThat(files(folder))
                .containsExactly("best", "epoch-0001.checkpoint", "epoch-0002.checkpoint", "final");

        for (int ranks : new int[] {1, 2}) {
            Path copy = copy(folder, ranks);
            List<Result> resumed = train(ranks, copy, 3);
            assertRanksAgree(resumed);
            for (Result result : resumed) {
                assertThat(result.resumedAt()).isEqualTo(2);
                assertThat(result.start()).isEqualTo(four.getFirst().end());
                int steps = TrainingJob.TRAIN_SAMPLES / ranks / TrainingJob.BATCH_SIZE + 1;
                assertThat(result.updates()).isEqualTo(four.getFirst().updates() + steps);
                assertThat(result.figures().get("train_loss"))
                        .isLessThan(four.getFirst().figures().get("train_loss"));
            }
            assertThat(resumed.getFirst().output()).contains("epoch 3/3 done");
            assertThat(files(copy))
                    .containsExactly(
                            "best", "epoch-0002.checkpoint", "epoch-0003.checkpoint", "final");
        }
        predictsWithPlainDjl(four.getFirst());
    }

    private static List<Result> train(int ranks, Path folder, int epochs) {
        TrainingJob trainingJob = new TrainingJob(folder.toString(), epochs);
        return TrainingJob.ranks(ranks).run(trainingJob::run);
    }

    private static void assertRanksAgree(List<Result> results) {
        Result first = results.getFirst();
        for (Result result : results) {
            assertThat(result.start()).isEqualTo(first.start());
            assertThat(finalState(result)).isEqualTo(finalState(first)).isNotEmpty();
            assertThat(result.end()).isNotEqualTo(result.start());
            assertThat(result.figures()).isEqualTo(first.figures());
        }
    }

    /// Running statistics differ between ranks, since each has its own samples.
    private static List<String> finalState(Result result) {
        return result.end().stream().filter(array -> !array.contains("running")).toList();
    }

    private static void assertMetricsCoverAllRanks(List<Result> results) {
        float correct = results.stream().mapToInt(Result::correct).sum();
        assertThat(results.getFirst().figures().get("validate_Accuracy"))
                .isCloseTo(correct / TrainingJob.TEST_SAMPLES, within(1e-6f))
                .isGreaterThan(0.4f);
    }

    private static void assertProgressIsPrinted(List<Result> results) {
        assertThat(results.get(0).output())
                .containsPattern("epoch 1/2 done in .* \\| learning rate 0\\.200\n")
                .containsPattern("epoch 2/2 done in .* \\| learning rate 0\\.200\n")
                .contains(" images/s | loss ")
                .contains(" | Accuracy ")
                .contains(" | validation loss ")
                .containsPattern(
                        "trained on 474 images in .* on each of 4 ranks \\| scaling efficiency");
        assertThat(results.subList(1, 4)).extracting(Result::output).containsOnly("");
    }

    private void predictsWithPlainDjl(Result trained) throws Exception {
        List<String> command =
                List.of(
                        ProcessHandle.current().info().command().orElse("java"),
                        TestJvm.NO_PERFORMANCE_DATA,
                        "--enable-native-access=ALL-UNNAMED",
                        "-Dai.djl.offline=true",
                        "-cp",
                        plainClassPath(),
                        Path.of(getClass().getResource("/inference/Predict.java").toURI())
                                .toString(),
                        folder.resolve("final").toString(),
                        folder.resolve("best").toString());
        Path errors = folder.resolve("errors.txt");
        Process process = new ProcessBuilder(command).redirectError(errors.toFile()).start();
        String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(process.waitFor()).as(Files.readString(errors)).isZero();
        assertThat(output.lines().toList())
                .hasSize(3)
                .startsWith("without Horovod4J", trained.scores().toString());
    }

    /// The class path of this test without Horovod4J.
    private static String plainClassPath() {
        return String.join(
                File.pathSeparator,
                Arrays.stream(TestJvm.CLASS_PATH.split(File.pathSeparator))
                        .filter(entry -> entry.endsWith(".jar") && !entry.contains("horovod4j"))
                        .toList());
    }

    private static List<String> files(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString())
                    .filter(name -> !name.startsWith("resumed"))
                    .sorted()
                    .toList();
        }
    }

    private static Path copy(Path folder, int ranks) throws IOException {
        Path copy = Files.createDirectory(folder.resolve("resumed-" + ranks));
        List<Path> files = new ArrayList<>();
        try (Stream<Path> all = Files.list(folder)) {
            all.filter(Files::isRegularFile).forEach(files::add);
        }
        for (Path file : files) {
            Files.copy(file, copy.resolve(file.getFileName()));
        }
        return copy;
    }
}
