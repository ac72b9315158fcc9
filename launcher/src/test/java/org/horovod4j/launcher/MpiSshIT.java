package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.launcher.plan.Host;
import org.horovod4j.testsupport.Processes;
import org.horovod4j.testsupport.SystemPackages;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;

/// `horovodrun --mpi` on hosts behind real ssh, with a real `mpirun`.
@Tag("slow")
class MpiSshIT {
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    /// The Debian package of each program.
    private static final Map<String, String> PACKAGES =
            Map.of("mpirun.openmpi", "openmpi-bin", "mpirun.mpich", "mpich");

    @RegisterExtension static final SshCluster hosts = new SshCluster();

    @ParameterizedTest
    @CsvSource({
        "mpirun.openmpi, 'hvdssh1:2,hvdssh2:1', 'hvdssh1,hvdssh1,hvdssh2'",
        "mpirun.openmpi, 'localhost:1,hvdssh1:2', ',hvdssh1,hvdssh1'",
        "mpirun.mpich, 'hvdssh1:2,hvdssh2:1', 'hvdssh1,hvdssh1,hvdssh2'",
        "mpirun.mpich, 'localhost:2,hvdssh1:1', ',,hvdssh1'"
    })
    void ranksRunOnLocalAndRemoteHosts(String mpirun, String where, String names) throws Exception {
        String here = Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
        try (LauncherProcess launcher =
                start(
                        mpirun,
                        where,
                        "sh",
                        "-c",
                        "echo on=$(uname -n); exec \"$@\"",
                        "sh",
                        TestJvm.JAVA,
                        "-cp",
                        TestJvm.CLASS_PATH,
                        SumOfRanks.class.getName())) {
            assertThat(launcher.exitCode()).as(launcher::stderr).isZero();
            assertThat(launcher.awaitOutput("sum=(3)", 3)).hasSize(3);
            assertThat(launcher.awaitOutput("on=(\\S+)", 3))
                    .containsExactlyInAnyOrderElementsOf(
                            Stream.of(names.split(",", -1))
                                    .map(name -> name.isEmpty() ? here : name)
                                    .toList());
        }
    }

    /// The last rank exits while the others wait for it.
    static final class FailingRank {
        private FailingRank() {}

        public static void main(String[] arguments) {
            Hvd.init();
            Hvd.barrier();
            if (Hvd.rank() == 2) {
                System.err.println("disk full");
                Runtime.getRuntime().halt(3);
            }
            IO.println("job=" + System.getenv("HOROVOD_JOB_ID"));
            Hvd.barrier();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "mpirun.openmpi, exit code 3|its connection", // unless it sees the others exit before
        "mpirun.mpich, its connection"
    })
    void firstFailedRankIsNamedWithHost(String mpirun, String how) throws Exception {
        try (LauncherProcess launcher =
                start(
                        mpirun,
                        "hvdssh1:2,hvdssh2:1",
                        TestJvm.JAVA,
                        "-cp",
                        TestJvm.CLASS_PATH,
                        FailingRank.class.getName())) {
            assertThat(launcher.exitCode()).isNotZero();
            assertThat(launcher.stderr())
                    .containsPattern(
                            "First to fail was rank 2 on hvdssh2 \\(process \\d+\\): (" + how + ")")
                    .containsSubsequence("\n    disk full\n", "The other processes had ended ");
            String job = launcher.awaitOutput("job=(\\S+)", 1).getFirst();
            await().atMost(TIMEOUT).until(() -> Processes.ofJob(job).isEmpty());
        }
    }

    /// Like a firewall: packets to the second host are lost.
    @ParameterizedTest
    @ValueSource(strings = {"mpirun.openmpi", "mpirun.mpich"})
    void unresponsiveHostTimesOut(String mpirun) throws Exception {
        hosts.cutLink(2);
        try (LauncherProcess launcher =
                start(mpirun, "hvdssh1:1,hvdssh2:1", "--start-timeout", "3", "true")) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr())
                    .containsPattern(
                            "[12] of 2 ranks had not started within the start timeout of 3 s");
        } finally {
            hosts.restoreLink(2);
        }
    }

    /// A program that launches a function on the two hosts that it is given, by `mpirun`.
    static final class Program {
        private Program() {}

        public static void main(String[] arguments) {
            IO.println(
                    Launcher.processes(2)
                            .hosts(arguments[0])
                            .mpi()
                            .jvmOptions(List.of(TestJvm.NO_PERFORMANCE_DATA))
                            .run(
                                    comm -> {
                                        float[] sum = {comm.rank() + 1};
                                        comm.allreduce("sum", sum, ReduceOp.SUM);
                                        return "%d: %.0f".formatted(comm.rank(), sum[0]);
                                    }));
        }
    }

    @ParameterizedTest
    @CsvSource({
        "mpirun.openmpi, 'hvdssh1:1,hvdssh2:1'",
        "mpirun.openmpi, 'localhost:1,hvdssh2:1'",
        "mpirun.mpich, 'hvdssh1:1,hvdssh2:1'",
        "mpirun.mpich, 'localhost:1,hvdssh2:1'"
    })
    void resultsOfAllHostsAreReturnedByRank(String mpirun, String on) throws Exception {
        try (LauncherProcess program = hosts.start(Program.class, with(mpirun), on)) {
            assertThat(program.exitCode()).as(program::stderr).isZero();
            assertThat(program.stdout()).isEqualTo("[0: 3, 1: 3]\n");
        }
    }

    private static LauncherProcess start(String mpirun, String where, String... rest)
            throws IOException, InterruptedException {
        int processes = Host.list(where).stream().mapToInt(Host::slots).sum();
        List<String> words =
                new ArrayList<>(List.of("-np", Integer.toString(processes), "-H", where, "--mpi"));
        words.addAll(List.of(rest));
        return hosts.start(with(mpirun), words.toArray(String[]::new));
    }

    /// A path with this one as `mpirun`: on Debian each has its own name, and `mpirun` may be
    /// either.
    private static Map<String, String> with(String mpirun)
            throws IOException, InterruptedException {
        SystemPackages.require(
                List.of(mpirun), List.of(Objects.requireNonNull(PACKAGES.get(mpirun))));
        Path folder = Files.createDirectories(hosts.folder().resolve(mpirun));
        Path script = folder.resolve("mpirun");
        Files.writeString(script, "#!/bin/sh\nexec " + mpirun + " \"$@\"\n");
        assertThat(script.toFile().setExecutable(true)).isTrue();
        return Map.of(
                "PATH", folder + ":" + hosts.folder().resolve("bin") + ":" + System.getenv("PATH"));
    }
}
