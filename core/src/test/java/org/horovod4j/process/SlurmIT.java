package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.horovod4j.security.Secret;
import org.horovod4j.testsupport.SystemPackages;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/// Ranks that a real Slurm starts, without `horovodrun`.
@Tag("slow")
@Timeout(300)
class SlurmIT {
    @TempDir static Path folder;
    private static SlurmCluster slurm;

    @BeforeAll
    static void startCluster() throws IOException, InterruptedException {
        assumeTrue(SystemPackages.isRoot(), "daemons of Slurm want root");
        SystemPackages.require(
                List.of("srun", "sbatch", "sinfo", "slurmctld", "slurmd", "munged"),
                List.of("slurmctld", "slurmd", "slurm-client", "munge"));
        slurm = new SlurmCluster(folder);
    }

    @AfterAll
    static void endCluster() {
        if (slurm != null) {
            slurm.close();
        }
    }

    @Test
    void fourTasksOnTwoNodesAreAWorldOfFour() throws IOException {
        String output = srun(Map.of(), "-n4", "--ntasks-per-node=2");
        for (int world = 0; world < 2; world++) {
            for (int rank = 0; rank < 4; rank++) {
                assertThat(output)
                        .contains(
                                "world %d: rank %d of 4, local %d of 2, cross %d of 2: 10"
                                        .formatted(world, rank, rank % 2, rank / 2));
            }
        }
        try (Stream<Path> left = Files.list(meetings())) {
            assertThat(left).as("files by which ranks have met").isEmpty();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"--mpi=none", "--mpi=pmi2"})
    void unevenNodesAndOtherPluginsWork(String plugin) throws IOException {
        assertThat(srun(Map.of(), "-n3", "-N2", plugin))
                .contains("world 1: rank 0 of 3, local 0 of 2, cross 0 of 2: 6")
                .contains("world 1: rank 1 of 3, local 1 of 2, cross 0 of 1: 6")
                .contains("world 1: rank 2 of 3, local 0 of 1, cross 1 of 2: 6");
    }

    @Test
    void concurrentStepsAreSeparateWorlds() throws IOException {
        Path script = folder.resolve("two.sh");
        String srun = "srun -n2 --exact " + String.join(" ", program()) + " &\n";
        Files.writeString(script, "#!/bin/sh\n" + srun + srun + "wait\n");
        assertThat(batch(Map.of(), script, "-n4"))
                .satisfies(
                        output -> {
                            assertThat(output.split("rank 0 of 2", -1)).hasSize(1 + 2 * 2);
                            assertThat(output.split("rank 1 of 2", -1)).hasSize(1 + 2 * 2);
                            assertThat(output.split(": 3\n", -1)).hasSize(1 + 2 * 4);
                        });
    }

    @Test
    void aBatchScriptWithoutSrunIsAWorldOfOne() throws IOException {
        Path script = folder.resolve("alone.sh");
        Files.writeString(script, "#!/bin/sh\n" + String.join(" ", program()) + "\n");
        assertThat(batch(Map.of(), script, "-n3")).contains("world 0: rank 0 of 1,");
        // A job that is submitted from inside a step inherits the variables of that step, and they
        // may
        // be consistent with its own.
        for (String tasks : List.of("-n3", "-n2")) {
            Path output = folder.resolve("inside" + tasks);
            String submit =
                    "[ $SLURM_PROCID = 1 ] || sbatch --wait -N2 %s -o %s %s"
                            .formatted(tasks, output, script);
            assertThat(
                            slurm.run(
                                    variables(Map.of()),
                                    List.of("srun", "-N2", "-n2", "sh", "-c", submit)))
                    .contains("Submitted batch job");
            assertThat(output).content().contains("world 0: rank 0 of 1,");
        }
    }

    /// The number of tasks that they see is that of the allocation, and their node runs no other
    /// task.
    @Test
    void oneTaskOnEachNodeIsAWorldOfTwoWithThePreservedEnvironmentToo() throws IOException {
        Path script = folder.resolve("preserved.sh");
        Files.writeString(
                script, "#!/bin/sh\nsrun -E -N2 -n2 " + String.join(" ", program()) + "\n");
        assertThat(batch(Map.of(), script, "-N2", "-n4"))
                .contains("world 1: rank 0 of 2, local 0 of 1, cross 0 of 2: 3")
                .contains("world 1: rank 1 of 2, local 0 of 1, cross 1 of 2: 3");
    }

    @Test
    void rendezvousAtFirstHostOfStepWorks() throws IOException {
        Map<String, String> variables =
                Map.of(
                        "HOROVOD_RENDEZVOUS_ADDR",
                        "auto",
                        "HOROVOD_SECRET_KEY",
                        Secret.random().encode(),
                        // these node names have no address; on a cluster they can be resolved
                        "JAVA_TOOL_OPTIONS",
                        "-Djdk.net.hosts.file=" + hostsFile());
        assertThat(srun(variables, "-n2", "-N2")).contains("world 1: rank 1 of 2,").contains(": 3");
    }

    private static Path hostsFile() throws IOException {
        return Files.writeString(
                folder.resolve("hosts"), "127.0.0.1 n1 n2 localhost " + hostName() + "\n");
    }

    private static String hostName() throws IOException {
        return Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
    }

    private static String srun(Map<String, String> variables, String... options)
            throws IOException {
        List<String> command = new ArrayList<>(List.of("srun"));
        command.addAll(List.of(options));
        command.addAll(program());
        return slurm.run(variables(variables), command);
    }

    private static String batch(Map<String, String> variables, Path script, String... options)
            throws IOException {
        Path output = folder.resolve("output-of-" + script.getFileName());
        List<String> command = new ArrayList<>(List.of("sbatch", "--wait"));
        command.addAll(List.of(options));
        command.addAll(List.of("-o", output.toString(), script.toString()));
        slurm.run(variables(variables), command);
        return Files.readString(output);
    }

    private static Map<String, String> variables(Map<String, String> more) {
        Map<String, String> variables = new HashMap<>(more);
        variables.put("HOROVOD_RENDEZVOUS_FOLDER", meetings().toString());
        variables.put("HOROVOD_START_TIMEOUT", "120"); // JVMs start slowly on a busy machine
        return variables;
    }

    private static Path meetings() {
        return folder.resolve("meetings");
    }

    private static List<String> program() {
        return TestRankCommand.of(List.of(), SumProgram.class, List.of());
    }
}
