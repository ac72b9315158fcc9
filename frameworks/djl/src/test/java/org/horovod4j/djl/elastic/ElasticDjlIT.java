package org.horovod4j.djl.elastic;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.horovod4j.djl.DjlProcesses;
import org.horovod4j.launcher.HorovodRun;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/// An elastic DJL training, in which some processes are killed.
class ElasticDjlIT {
    private static final Duration TIMEOUT = Duration.ofSeconds(90);
    private static final Pattern TOLD =
            Pattern.compile(
                    "(begin|done) generation=(\\d+) rank=(\\d+) size=(\\d+) pid=(\\d+) step=(\\d+)"
                            + " updates=(\\d+) arrays=(\\d+) content=(\\w+) loss=(\\S+)"
                            + " batches=(\\d+)");

    @TempDir private Path folder;

    private record WorkerEvent(
            String event,
            int generation,
            int rank,
            int size,
            long pid,
            int step,
            int updates,
            int arrays,
            String content,
            String loss,
            int batches) {}

    @ParameterizedTest
    @ValueSource(ints = {0, 2})
    void survivorsContinueAndNewWorkerGetsTheirState(int victim) throws Exception {
        Process launcher = start();
        try {
            List<WorkerEvent> first = awaitAll(launcher, "begin", 0, 3);
            kill(first.get(victim).pid());
            List<WorkerEvent> second = awaitAll(launcher, "begin", 1, 2);
            List<WorkerEvent> third = awaitAll(launcher, "begin", 2, 3);
            Files.createFile(folder.resolve("end"));
            await().atMost(TIMEOUT).until(() -> !launcher.isAlive());
            assertThat(launcher.exitValue()).as(output()).isZero();
            List<WorkerEvent> last = events("done", 2);

            assertThat(last).as(output()).hasSize(3);
            for (List<WorkerEvent> together : List.of(first, second, third, last)) {
                assertThat(together)
                        .extracting(WorkerEvent::content)
                        .as(output())
                        .containsOnly(together.getFirst().content());
                assertThat(together)
                        .allSatisfy(it -> assertThat(it.updates()).isEqualTo(it.step()));
            }
            assertThat(third)
                    .as("a mean and a variance of each")
                    .extracting(WorkerEvent::arrays)
                    .containsOnly(12);
            for (List<WorkerEvent> together : List.of(first, third)) {
                assertThat(together)
                        .as("the mean of 1/2, 4/2 and 9/2; 48 samples in batches of 3 × 8")
                        .allSatisfy(
                                it ->
                                        assertThat(it.loss() + " " + it.batches())
                                                .isEqualTo("2.333 2"));
            }
            assertThat(second)
                    .as("the mean of 1/2 and 4/2; 48 samples in batches of 2 × 8")
                    .allSatisfy(
                            it -> assertThat(it.loss() + " " + it.batches()).isEqualTo("1.250 3"));
            assertThat(folder.resolve("checkpoints")).isNotEmptyDirectory();
            assertThat(third)
                    .extracting(WorkerEvent::pid)
                    .as("survivors are not started again")
                    .containsAll(second.stream().map(WorkerEvent::pid).toList());
            assertThat(last.getFirst().step()).isGreaterThan(third.getFirst().step());
        } finally {
            launcher.destroy();
            await().atMost(TIMEOUT).until(() -> !launcher.isAlive());
        }
    }

    private Process start() throws IOException {
        List<String> worker =
                DjlProcesses.rank(ElasticDjlWorker.class, folder.resolve("end").toString())
                        .with("-Dai.djl.offline=true")
                        .words();
        TestJvm launcher = TestJvm.of(HorovodRun.class, "-np", "3", "--min-np", "2").shortLived();
        ProcessBuilder builder =
                new ProcessBuilder(
                                Stream.of(launcher.words(), worker).flatMap(List::stream).toList())
                        .redirectErrorStream(true)
                        .redirectOutput(folder.resolve("output").toFile());
        builder.environment().put("OMP_NUM_THREADS", "1");
        return builder.start();
    }

    private static void kill(long pid) {
        assertThat(ProcessHandle.of(pid).orElseThrow().destroyForcibly()).isTrue(); // SIGKILL
    }

    /// Waits until this number of ranks has printed this for a generation; by rank.
    private List<WorkerEvent> awaitAll(Process launcher, String event, int generation, int size) {
        await().atMost(TIMEOUT)
                .failFast(() -> assertThat(launcher.isAlive()).as(output()).isTrue())
                .until(() -> events(event, generation).size() == size);
        return events(event, generation);
    }

    private List<WorkerEvent> events(String event, int generation) {
        return TOLD.matcher(output())
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
                                        it.group(9),
                                        it.group(10),
                                        Integer.parseInt(it.group(11))))
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
