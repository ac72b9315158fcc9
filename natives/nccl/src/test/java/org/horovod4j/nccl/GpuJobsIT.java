package org.horovod4j.nccl;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.horovod4j.cuda.GpuMemory;
import org.horovod4j.launcher.HorovodRun;
import org.horovod4j.testsupport.ElasticTestJob;
import org.horovod4j.testsupport.ElasticTestJob.WorkerEvent;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/// Jobs of real processes that share the first GPU: lost ranks, elastic jobs, hierarchies and process
/// sets.
@Tag("gpu")
class GpuJobsIT {
    /// What a measurement of memory may differ by: less than a communicator or a tensor takes.
    private static final int NOISE_MB = 20;

    private static final long LOSS_MILLIS = 5000;

    @TempDir Path folder;

    /// NCCL refuses ranks on one GPU, unless it takes them for ranks of different hosts.
    private static final String OWN_HOST_ID = "NCCL_HOSTID=$$ exec \"$0\" \"$@\"";

    @ParameterizedTest
    @ValueSource(strings = {"NCCL", "HOST", "CUDA_IPC"})
    void rankThatIsKilledInAnAllreduceEndsThoseOfTheOthers(String backend) throws Exception {
        GpuCollectivesIT.assumeAvailable(backend);
        int before = GpuMemory.used();
        String output =
                run(
                        List.of("-np", "2"),
                        Map.of("HOROVOD_GPU_OPERATIONS", backend),
                        OWN_HOST_ID,
                        TestJvm.of(GpuJobRank.class, "killed"));
        MatchResult killed = find(output, "KILLED at (\\d+), pending ([1-9]\\d*)");
        MatchResult lost = find(output, "LOST PeerLostException at (\\d+)");
        long millis = Long.parseLong(lost.group(1)) - Long.parseLong(killed.group(1));
        System.out.printf(
                "%s: lost after %d ms, with %s operations pending%n",
                backend, millis, killed.group(2));
        assertThat(millis).isBetween(0L, LOSS_MILLIS);
        await().untilAsserted(
                        () ->
                                assertThat(GpuMemory.used())
                                        .as("MB in use")
                                        .isLessThanOrEqualTo(before + NOISE_MB));
    }

    @ParameterizedTest
    @ValueSource(strings = {"NCCL", "HOST", "CUDA_IPC"})
    void survivorsOfAnElasticJobContinueOnTheGpu(String backend) throws Exception {
        GpuCollectivesIT.assumeAvailable(backend);
        try (ElasticTestJob job =
                ElasticTestJob.start(
                        folder,
                        command(
                                List.of("-np", "3", "--min-np", "2"),
                                OWN_HOST_ID,
                                TestJvm.of(
                                        GpuElasticWorker.class,
                                        ElasticTestJob.endFile(folder).toString())),
                        Map.of("HOROVOD_GPU_OPERATIONS", backend))) {
            List<WorkerEvent> first = job.awaitAll(0, 3);
            job.awaitAll("memory", 0, 3);
            job.kill(first.get(1));
            job.awaitAll(1, 2);
            job.awaitAll("memory", 2, 3);
            job.kill(first.get(2)); // of another slot: a slot that fails twice is not used again
            job.awaitAll(3, 2);
            job.awaitAll("memory", 4, 3);
            job.end();

            for (int generation = 0; generation <= 4; generation++) {
                assertThat(job.events("begin", generation))
                        .as(job.output())
                        .allSatisfy(
                                it ->
                                        assertThat(it.number("weights"))
                                                .isEqualTo(it.number("step")));
            }
            WorkerEvent end = job.events("done", 4).getFirst();
            assertThat(end.number("weights")).isEqualTo(end.number("step"));
            assertThat(job.events("begin", 4).getFirst().pid())
                    .as("a survivor of both losses")
                    .isEqualTo(first.getFirst().pid());
            System.out.printf(
                    "%s: MB in use: %d, later %d and %d%n",
                    backend, memory(job, 0), memory(job, 2), memory(job, 4));
            assertThat(memory(job, 4))
                    .as("MB in use after two losses")
                    .isLessThanOrEqualTo(memory(job, 0) + NOISE_MB);
        }
    }

    private static int memory(ElasticTestJob job, int generation) {
        return job.events("memory", generation).stream()
                .mapToInt(it -> it.number("used"))
                .min()
                .orElseThrow();
    }

    /// Processes of different users do not share memory: for Horovod4J they are on different hosts. Ranks
    /// that share a GPU cannot use NCCL inside a host, unless each has a host id.
    @ParameterizedTest
    @ValueSource(strings = {"NCCL", "CUDA_IPC"})
    void hierarchicalAllreduceHasTheSumOfAllHosts(String backend) throws Exception {
        GpuCollectivesIT.assumeAvailable(backend);
        String hostId = backend.equals("NCCL") ? "NCCL_HOSTID=$HOROVOD_RANK" : "";
        String output =
                run(
                        List.of("-np", "4"),
                        Map.of("HOROVOD_HIERARCHICAL_ALLREDUCE", "1", "HOROVOD_LOG_LEVEL", "info"),
                        hostId + " exec \"$0\" -Duser.name=user$((HOROVOD_RANK / 2)) \"$@\"",
                        TestJvm.of(GpuJobRank.class, "sizes"));
        assertThat(output).contains("allreduce by " + backend + "_HIERARCHICAL (");
        assertThat(Pattern.compile("rank \\d checked 25 sizes").matcher(output).results())
                .as(output)
                .hasSize(4);
    }

    @Test
    void processSetsReduceAtTheSameTimeByNccl() throws Exception {
        GpuCollectivesIT.assumeAvailable("NCCL");
        String output =
                run(
                        List.of("-np", "3"),
                        Map.of("HOROVOD_GPU_OPERATIONS", "NCCL"),
                        OWN_HOST_ID,
                        TestJvm.of(GpuJobRank.class, "sets"));
        assertThat(Pattern.compile("rank \\d checked 60 sums").matcher(output).results())
                .as(output)
                .hasSize(3);
    }

    /// Runs a job to its end.
    ///
    /// @param script starts a rank: `$0` and `$@` are its command
    private String run(
            List<String> flags, Map<String, String> environment, String script, TestJvm rank)
            throws IOException, InterruptedException {
        Path log = folder.resolve("log");
        ProcessBuilder builder =
                new ProcessBuilder(command(flags, script, rank))
                        .redirectErrorStream(true)
                        .redirectOutput(log.toFile());
        builder.environment().putAll(environment);
        Process process = builder.start();
        boolean ended = process.waitFor(120, TimeUnit.SECONDS);
        if (!ended) {
            process.destroyForcibly().waitFor();
        }
        String output = Files.readString(log);
        System.out.print(output);
        assertThat(ended).as("ended: %s", output).isTrue();
        return output;
    }

    private static List<String> command(List<String> flags, String script, TestJvm rank) {
        return Stream.of(
                        TestJvm.of(HorovodRun.class, flags.toArray(String[]::new))
                                .withVectors()
                                .words(),
                        List.of("sh", "-c", script),
                        rank.withVectors().words())
                .flatMap(List::stream)
                .toList();
    }

    private static MatchResult find(String output, String regex) {
        return Pattern.compile(regex).matcher(output).results().findFirst().orElseThrow();
    }
}
