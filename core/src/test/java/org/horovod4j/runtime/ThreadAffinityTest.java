package org.horovod4j.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.natives.ProcessorSet;
import org.horovod4j.spi.RankAndSize;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

@EnabledOnOs(OS.LINUX)
class ThreadAffinityTest {
    private static final Path THREADS = Path.of("/proc/self/task");

    /// Empty for a thread that has ended meanwhile.
    private static String processors(Path thread) {
        List<String> lines;
        try {
            lines = Files.readAllLines(thread.resolve("status"));
        } catch (IOException e) {
            return "";
        }
        return lines.stream()
                .filter(line -> line.startsWith("Cpus_allowed_list:"))
                .map(line -> line.substring(line.indexOf(':') + 1).strip())
                .findFirst()
                .orElseThrow();
    }

    /// The processors of this thread.
    private static String ownProcessors() {
        String processors = processors(Path.of("/proc/thread-self"));
        assertThat(processors).isNotEmpty();
        return processors;
    }

    /// The last processor that this process may use.
    private static int lastProcessor() {
        return Integer.parseInt(ownProcessors().replaceFirst(".*[-,]", ""));
    }

    private static List<String> processorsOfThreads(String name) throws IOException {
        try (Stream<Path> threads = Files.list(THREADS)) {
            return threads.filter(thread -> name(thread).equals(name))
                    .map(ThreadAffinityTest::processors)
                    .toList();
        }
    }

    /// Empty for a thread that has ended meanwhile.
    private static String name(Path thread) {
        try {
            return Files.readString(thread.resolve("comm")).strip();
        } catch (IOException e) {
            return "";
        }
    }

    private static String runBound(List<Integer> processors, RankAndSize local) throws Exception {
        List<String> found = new ArrayList<>();
        Thread thread =
                Thread.ofPlatform()
                        .start(
                                ThreadAffinity.bindThenRun(
                                        processors, local, () -> found.add(ownProcessors())));
        thread.join();
        return found.getFirst();
    }

    @Test
    void threadRunsOnProcessorOfItsRank() throws Exception {
        int last = lastProcessor();
        assertThat(runBound(List.of(9999, last), new RankAndSize(1, 2)))
                .isEqualTo(Integer.toString(last));
    }

    @Test
    void threadIsNotBoundWithoutUsableProcessor() throws Exception {
        String all = ownProcessors();
        assertThat(runBound(List.of(0), new RankAndSize(1, 2))).isEqualTo(all);
        assertThat(runBound(List.of(9999), new RankAndSize(0, 1))).isEqualTo(all);
        assertThat(ProcessorSet.of(8191).bindCurrentThread())
                .isEqualTo("this process may not use it");
    }

    @Test
    void cycleThreadOfRankIsBound() throws Exception {
        int last = lastProcessor();
        HvdRuntime runtime =
                HvdRuntime.of(Map.of("HOROVOD_THREAD_AFFINITY", Integer.toString(last)));
        Rank rank = runtime.start();
        try {
            // An asynchronous operation lets the thread start.
            var _ =
                    rank.communicator()
                            .allreduceAsync("a", Tensor.of(new float[] {1}), ReduceOp.SUM);
            await().untilAsserted(
                            () ->
                                    assertThat(processorsOfThreads("hvd-cycle-0"))
                                            .contains(Integer.toString(last)));
        } finally {
            rank.close();
            runtime.close();
        }
    }

    /// A bound thread may be the first to need helpers: they must not share its processor.
    @Test
    void helperThreadsKeepTheProcessorsOfTheProcess() {
        String all = ownProcessors();
        int last = lastProcessor();
        World.of(2)
                .with(
                        Map.of(
                                "HOROVOD_THREAD_AFFINITY",
                                last + "," + last,
                                "HOROVOD_HELPER_THREADS",
                                "1"))
                .run(
                        comm -> {
                            assertThat(ProcessorSet.of(last).bindCurrentThread()).isEmpty();
                            comm.allreduce("a", new float[1 << 20], ReduceOp.SUM);
                            await().untilAsserted(
                                            () ->
                                                    assertThat(
                                                                    processorsOfThreads(
                                                                            "hvd-helper-%d-1"
                                                                                    .formatted(
                                                                                            comm
                                                                                                    .rank())))
                                                            .containsExactly(all));
                        });
    }
}
