package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;

/// Ways to describe a job over hosts behind real ssh: by a host file, by a job file, by a program
/// that launches a function, and with encryption. What may happen to such a job is in [SshHostsIT].
@Tag("slow")
class SshJobsIT {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir static Path folder;
    private static SshHosts hosts;

    @BeforeAll
    static void up() throws Exception {
        hosts = SshHosts.up(folder);
    }

    @AfterAll
    static void down() throws Exception {
        if (hosts != null) {
            hosts.down();
        }
    }

    /// ssh's own configuration has the wrong port, user and key for the second host.
    @Test
    void aHostFileSaysHowToLogInToOneHostAndNotToAnother() throws Exception {
        Path file =
                Files.writeString(
                        folder.resolve("hosts"),
                        """
                        hvdssh1 slots=1
                        hvdssh-misled slots=2 port=2222 user=root identity=%s
                        """
                                .formatted(folder.resolve("id")));
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
                        System.getProperty("java.home") + "/bin/java",
                        "-cp",
                        System.getProperty("java.class.path"),
                        SumOfRanks.class.getName())) {
            assertThat(launcher.exitCode()).as(launcher::stderr).isZero();
            assertThat(launcher.stdout().lines())
                    .contains("[0]<stdout>:hvdssh1", "[1]<stdout>:hvdssh3", "[2]<stdout>:hvdssh3")
                    .contains("[0]<stdout>:sum=3", "[1]<stdout>:sum=3", "[2]<stdout>:sum=3");
        }
    }

    @Test
    void allHostsFinishALineOfAJobFileBeforeAnyStartsTheNext() throws Exception {
        Path job =
                Files.writeString(
                        folder.resolve("job.yml"),
                        "hosts: ['hvdssh1:2', 'hvdssh2:1']\n"
                                + SeveralLinesIT.twoLinesOfThreeWorkers(folder));
        try (LauncherProcess launcher = hosts.start("--job", job.toString())) {
            assertThat(launcher.exitCode()).as(launcher::stderr).isZero();
            assertThat(launcher.stdout().lines())
                    .containsExactlyInAnyOrder("[0]<stdout>:3", "[1]<stdout>:3", "[2]<stdout>:3");
        }
    }

    @Test
    void ranksOnSeveralHostsEncryptWhatTheySend() throws Exception {
        try (LauncherProcess launcher =
                hosts.start(
                        "--tls",
                        "-np",
                        "2",
                        "-H",
                        "hvdssh1:1,hvdssh2:1",
                        "java",
                        "-cp",
                        System.getProperty("java.class.path"),
                        TlsIT.Sum.class.getName())) {
            assertThat(launcher.exitCode()).as(launcher::stderr).isZero();
            assertThat(launcher.stdout().lines())
                    .containsExactlyInAnyOrder(
                            "[0]<stdout>:tls=1 sum=3", "[1]<stdout>:tls=1 sum=3");
        }
    }

    /// A script in place of ssh, as there are around `kubectl exec`: it takes a host and a command,
    /// knows by itself how to get there, and says on standard error what it does.
    private static Path agent(String name, String way) throws IOException {
        Path agent = folder.resolve(name);
        Files.writeString(
                agent,
                """
                #!/bin/sh
                set -x
                echo "$# $1" >>"$0.calls"
                host=$1
                shift
                %s
                """
                        .formatted(way));
        assertThat(agent.toFile().setExecutable(true)).isTrue();
        return agent;
    }

    /// The `ssh` on the `PATH` knows nothing of these hosts.
    private static LauncherProcess startThrough(Path agent, String... arguments)
            throws IOException {
        return hosts.start(
                Map.of(
                        "OMPI_MCA_plm_rsh_agent",
                        agent.toString(),
                        "PATH",
                        System.getenv("PATH"),
                        "HOROVOD_HEARTBEAT_TIMEOUT",
                        "4"),
                arguments);
    }

    private static String ssh() {
        return folder.resolve("bin/ssh").toString();
    }

    @Test
    void anAgentMayStandInForSsh() throws Exception {
        Path agent = agent("agent.sh", ssh() + " \"$host\" \"$*\"");
        try (LauncherProcess launcher =
                startThrough(
                        agent,
                        "-np",
                        "3",
                        "-H",
                        "hvdssh1:2,hvdssh2:1",
                        "java",
                        "-cp",
                        System.getProperty("java.class.path"),
                        SumOfRanks.class.getName())) {
            assertThat(launcher.exitCode()).as(launcher::stderr).isZero();
            assertThat(launcher.awaitOutput("sum=(3)", 3)).hasSize(3);
            assertThat(Files.readAllLines(Path.of(agent + ".calls")))
                    .containsExactlyInAnyOrder("2 hvdssh1", "2 hvdssh2");
        }
    }

    /// What the script has started holds the connection, and lives on when only the script is killed.
    @Test
    void aLostHostLeavesNothingOfAnAgentBehind() throws Exception {
        Path agent = agent("cut-off.sh", ssh() + " \"$host\" \"$*\"");
        try (LauncherProcess launcher =
                startThrough(
                        agent, "-np", "1", "-H", "hvdssh2:1", "sh", "-c", "echo up; sleep 1000")) {
            launcher.awaitOutput("(up)", 1);
            hosts.cutLink(2);
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr())
                    .contains("lost contact with host hvdssh2 (rank 0): no sign");
            String connection = folder.resolve("ssh_config").toString();
            await().atMost(PATIENCE)
                    .until(
                            () ->
                                    Processes.withCommandLine(agent.toString()).isEmpty()
                                            && Processes.withCommandLine(connection).isEmpty());
        } finally {
            hosts.mendLink(2);
        }
    }

    @Test
    void anAgentThatDoesNotReachTheHostIsNamed() throws Exception {
        Path deaf = agent("deaf.sh", ssh() + " -n \"$host\" \"$*\"");
        try (LauncherProcess launcher = startThrough(deaf, "-np", "1", "-H", "hvdssh1:1", "true")) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr())
                    .contains("hvdssh1: " + deaf + ", which OMPI_MCA_plm_rsh_agent names, ended (")
                    .contains("Let '" + deaf + " hvdssh1 cat' repeat what it reads first");
        }
        Path missing = folder.resolve("no-agent.sh");
        try (LauncherProcess launcher =
                startThrough(missing, "-np", "1", "-H", "hvdssh1:1", "true")) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr())
                    .containsPattern(
                            "hvdssh1: " + missing + ", which .* ended \\(exit code 127\\): ");
        }
    }

    /// A program that launches a function on two hosts, and prints what came back. It is a process of
    /// its own, for only there `ssh` is the one that knows the hosts.
    static final class Program {
        private static final int NOBODY = -1;

        private Program() {}

        /// Its argument is the rank that fails.
        public static void main(String[] arguments) {
            int failing = Integer.parseInt(arguments[0]);
            IO.println(
                    Launcher.processes(3)
                            .hosts("hvdssh1:2,hvdssh2:1")
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
    void aProgramGetsTheResultsOfAllHostsByRank() throws Exception {
        try (LauncherProcess program = startProgram(Program.NOBODY)) {
            assertThat(program.exitCode()).as(program::stderr).isZero();
            assertThat(program.stdout())
                    .isEqualTo("[0 on hvdssh1: 6, 1 on hvdssh1: 6, 2 on hvdssh2: 6]\n");
        }
    }

    @Test
    void aProgramHearsWhatARankOnAnotherHostThrew() throws Exception {
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
