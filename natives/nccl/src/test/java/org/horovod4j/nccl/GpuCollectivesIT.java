package org.horovod4j.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.horovod4j.launcher.HorovodRun;
import org.horovod4j.spi.DeviceBackendProvider;
import org.horovod4j.spi.DeviceProvider;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.ServiceLoader;
import java.util.concurrent.TimeUnit;

/// Runs the backends of GPUs in real processes that share the first GPU.
@Tag("gpu")
class GpuCollectivesIT {
    @TempDir Path folder;

    @ParameterizedTest(name = "{0}, {1} ranks")
    @CsvSource({"NCCL, 1", "NCCL, 2", "NCCL, 3", "CUDA_IPC, 1", "CUDA_IPC, 2", "CUDA_IPC, 3"})
    void everyCollectiveHasTheResultOfMainMemory(String backend, int ranks) throws Exception {
        String output = run(backend, ranks, "collectives");
        for (int rank = 0; rank < ranks; rank++) {
            assertThat(output).containsPattern("rank %d checked [1-9]\\d+ results".formatted(rank));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"NCCL", "CUDA_IPC"})
    void lostRankEndsAnOperation(String backend) throws Exception {
        assertThat(run(backend, 2, "lost"))
                .containsPattern("LOST (failed|aborted)")
                .contains("LOST after")
                .doesNotContain("LOST completed");
    }

    private String run(String backend, int ranks, String what) throws Exception {
        assumeAvailable(backend);
        // NCCL refuses two ranks on one GPU, unless it takes them for ranks of different hosts
        List<String> command =
                new ArrayList<>(
                        TestJvm.of(HorovodRun.class, "-np", String.valueOf(ranks))
                                .withVectors()
                                .words());
        command.addAll(List.of("sh", "-c", "NCCL_HOSTID=rank$HOROVOD_RANK exec \"$@\"", "rank"));
        command.addAll(TestJvm.of(CollectivesRank.class, backend, what).withVectors().words());
        Path log = folder.resolve("log");
        Process process =
                new ProcessBuilder(command)
                        .redirectErrorStream(true)
                        .redirectOutput(log.toFile())
                        .start();
        boolean ended = process.waitFor(120, TimeUnit.SECONDS);
        if (!ended) {
            process.destroyForcibly().waitFor();
        }
        String output = Files.readString(log);
        System.out.print(output);
        assertThat(ended).as("ended: %s", output).isTrue();
        return output;
    }

    /// Skips the test where there is no GPU, or not this backend. Core has `HOST`.
    static void assumeAvailable(String backend) {
        DeviceProvider devices = ServiceLoader.load(DeviceProvider.class).findFirst().orElseThrow();
        assumeTrue(devices.count() > 0, () -> "needs a GPU, but " + devices.describe());
        ServiceLoader.load(DeviceBackendProvider.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(each -> each.name().equals(backend))
                .forEach(
                        each ->
                                assumeTrue(
                                        each.isAvailable(),
                                        () -> backend + ": " + each.describe()));
    }
}
