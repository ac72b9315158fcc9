package org.horovod4j.tensorflow.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.horovod4j.launcher.HorovodRun;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/// An elastic TensorFlow training, in which a process is killed and another one joins.
class ElasticTensorFlowIT {
    private static final Duration TIMEOUT = Duration.ofSeconds(90);
    private static final Pattern PRINTED =
            Pattern.compile(
                    "(begin|done) generation=(\\d+) rank=(\\d+) size=(\\d+) pid=(\\d+) step=(\\d+)"
                            + " updates=(\\d+) variables=(\\d+) content=(\\w+)");

    @TempDir private Path folder;

    private record WorkerEvent(
            String event,
            int generation,
            int rank,
            int size,
            long pid,
            int step,
            int updates,
            int variables,
            String content) {}

    @Test
    void survivorContinuesAndNewWorkerGetsItsVariables() throws Exception {
        Process launcher = start();
        try {
            List<WorkerEvent> first = awaitAll(launcher, 0, 2);
            kill(first.getFirst().pid()); // rank 0, which has sent its variables
            List<WorkerEvent> second = awaitAll(launcher, 1, 1);
            List<WorkerEvent> third = awaitAll(launcher, 2, 2);
            Files.createFile(folder.resolve("end"));
            await().atMost(TIMEOUT).until(() -> !launcher.isAlive());
            assertThat(launcher.exitValue()).as(output()).isZero();
            List<WorkerEvent> last = events("done", 2);

            assertThat(last).as(output()).hasSize(2);
            for (List<WorkerEvent> together : List.of(first, second, third, last)) {
                assertThat(together)
                        .as(output())
                        .extracting(WorkerEvent::content)
                        .containsOnly(together.getFirst().content());
                assertThat(together)
                        .as("each step has changed the variables once")
                        .allSatisfy(it -> assertThat(it.updates()).isEqualTo(it.step()));
                assertThat(together)
                        .as("weights, two moments, two powers and the counter")
                        .extracting(WorkerEvent::variables)
                        .containsOnly(6);
            }
            assertThat(third)
                    .as("the survivor is not started again")
                    .extracting(WorkerEvent::pid)
                    .contains(second.getFirst().pid());
            assertThat(last.getFirst().step()).isGreaterThan(third.getFirst().step());
        } finally {
            launcher.destroy();
            await().atMost(TIMEOUT).until(() -> !launcher.isAlive());
        }
    }

    private Process start() throws IOException {
        List<String> worker =
                TestJvm.of(ElasticTensorFlowWorker.class, folder.resolve("end").toString())
                        .with("-XX:TieredStopAtLevel=1", "--enable-native-access=ALL-UNNAMED")
                        .words();
        TestJvm launcher = TestJvm.of(HorovodRun.class, "-np", "2", "--min-np", "1").shortLived();
        return new ProcessBuilder(
                        Stream.of(launcher.words(), worker).flatMap(List::stream).toList())
                .redirectErrorStream(true)
                .redirectOutput(folder.resolve("output").toFile())
                .start();
    }

    private static void kill(long pid) {
        assertThat(ProcessHandle.of(pid).orElseThrow().destroyForcibly()).isTrue(); // SIGKILL
    }

    /// Waits until this number of ranks has begun a generation; by rank.
    private List<WorkerEvent> awaitAll(Process launcher, int generation, int size) {
        await().atMost(TIMEOUT)
                .failFast(() -> assertThat(launcher.isAlive()).as(output()).isTrue())
                .until(() -> events("begin", generation).size() == size);
        return events("begin", generation);
    }

    private List<WorkerEvent> events(String event, int generation) {
        return PRINTED.matcher(output())
                .results()
                .map(
                        it ->
                                new WorkerEvent(
                                        it.group(1),
                                        Integer.parseInt(it.group(2)),
                                        Integer.parseInt(it.group(3)),
                                        Integer.parseInt(it.group(4)),
                                        Long.parseLong(it.group(5)),
                                        Integer.parseInt(it.group(6)),
                                        Integer.parseInt(it.group(7)),
                                        Integer.parseInt(it.group(8)),
                                        it.group(9)))
                .filter(it -> it.event().equals(event) && it.generation() == generation)
                .sorted(Comparator.comparingInt(WorkerEvent::rank))
                .toList();
    }

    private String output() {
        try {
            return Files.readString(folder.resolve("output"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
