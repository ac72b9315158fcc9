package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/// Jobs over hosts behind real ssh that are described by a host file, by a job file, or by a
/// program that launches a function, and with encryption. For failures see [SshHostsIT].
@Tag("slow")
class SshJobsIT {
    @RegisterExtension static final SshCluster hosts = new SshCluster();

    /// The configuration of ssh has a wrong port, user and key for the second host.
    @Test
    void hostFileSetsLoginPerHost() throws Exception {
        Path file =
                Files.writeString(
                        hosts.folder().resolve("hosts"),
                        """
                        hvdssh1 slots=1
                        hvdssh-misled slots=2 port=2222 user=root identity=%s
                        """
                                .formatted(hosts.folder().resolve("id")));
        try (LauncherProcess launcher =
                hosts.start(
                        "-np",
                        "3",
                        "--hostfile",
                        file.toString(),
                        "sh",
                        "-c",
                        "hostname; exec \"$@\"",
                        "sh",
                        TestJvm.JAVA,
                        "-cp",
                        TestJvm.CLASS_PATH,
                        SumOfRanks.class.getName())) {
            assertThat(launcher.exitCode()).as(launcher::stderr).isZero();
            assertThat(launcher.stdout().lines())
                    .contains("[0]<stdout>:hvdssh1", "[1]<stdout>:hvdssh3", "[2]<stdout>:hvdssh3")
                    .contains("[0]<stdout>:sum=3", "[1]<stdout>:sum=3", "[2]<stdout>:sum=3");
        }
    }

    @Test
    void allHostsFinishCommandBeforeNextStarts() throws Exception {
        Path job =
                Files.writeString(
                        hosts.folder().resolve("job.yml"),
                        "hosts: ['hvdssh1:2', 'hvdssh2:1']\n"
                                + MultiCommandJobIT.twoCommandsOnThreeWorkers(hosts.folder()));
        try (LauncherProcess launcher = hosts.start("--job", job.toString())) {
            assertThat(launcher.exitCode()).as(launcher::stderr).isZero();
            assertThat(launcher.stdout().lines())
                    .containsExactlyInAnyOrder("[0]<stdout>:3", "[1]<stdout>:3", "[2]<stdout>:3");
        }
    }

    @Test
    void ranksOnSeveralHostsUseTls() throws Exception {
        try (LauncherProcess launcher =
                hosts.start(
                        "--tls",
                        "-np",
                        "2",
                        "-H",
                        "hvdssh1:1,hvdssh2:1",
                        "java",
                        TestJvm.NO_PERFORMANCE_DATA,
                        "-cp",
                        TestJvm.CLASS_PATH,
                        TlsIT.Sum.class.getName())) {
            assertThat(launcher.exitCode()).as(launcher::stderr).isZero();
            assertThat(launcher.stdout().lines())
                    .containsExactlyInAnyOrder(
                            "[0]<stdout>:tls=1 sum=3", "[1]<stdout>:tls=1 sum=3");
        }
    }

    /// A program that launches a function on two hosts, and prints the results. It is a separate
    /// process, since only its `ssh` knows the hosts.
    static final class Program {
        private static final int NO_RANK = -1;

        private Program() {}

        /// Launches the function.
        ///
        /// @param arguments the rank that fails
        public static void main(String[] arguments) {
            int failing = Integer.parseInt(arguments[0]);
            IO.println(
                    Launcher.processes(3)
                            .hosts("hvdssh1:2,hvdssh2:1")
                            .jvmOptions(List.of(TestJvm.NO_PERFORMANCE_DATA))
                            .run(comm -> sum(comm, failing)));
        }

        private static String sum(Communicator comm, int failing) throws IOException {
            float[] sum = {comm.rank() + 1};
            comm.allreduce("sum", sum, ReduceOp.SUM);
            if (comm.rank() == failing) {
                throw new IllegalStateException("no data");
            }
            String host = Files.readString(Path.of("/proc/sys/kernel/hostname")).strip();
            return "%d on %s: %.0f".formatted(comm.rank(), host, sum[0]);
        }
    }

    private static LauncherProcess startProgram(int failing) throws IOException {
        return hosts.start(Program.class, Integer.toString(failing));
    }

    @Test
    void resultsOfAllHostsAreReturnedByRank() throws Exception {
        try (LauncherProcess program = startProgram(Program.NO_RANK)) {
            assertThat(program.exitCode()).as(program::stderr).isZero();
            assertThat(program.stdout())
                    .isEqualTo("[0 on hvdssh1: 6, 1 on hvdssh1: 6, 2 on hvdssh2: 6]\n");
        }
    }

    @Test
    void exceptionOfRemoteRankReachesProgram() throws Exception {
        try (LauncherProcess program = startProgram(2)) {
            assertThat(program.exitCode()).isOne();
            assertThat(program.stdout()).isEmpty();
            assertThat(program.stderr())
                    .contains(
                            "LaunchException: rank 2 on hvdssh2 threw java.lang.IllegalStateException: no data")
                    .contains("Caused by: java.lang.IllegalStateException: no data")
                    .contains("at " + Program.class.getName() + ".sum(");
        }
    }
}
