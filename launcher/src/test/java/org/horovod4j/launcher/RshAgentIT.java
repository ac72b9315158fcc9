package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.horovod4j.testsupport.Processes;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;

/// Jobs over hosts that are reached through a user's program instead of ssh.
/// `OMPI_MCA_plm_rsh_agent` names it.
@Tag("slow")
class RshAgentIT {
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    @RegisterExtension static final SshCluster hosts = new SshCluster();

    /// A script in place of ssh, like those around `kubectl exec`: it takes a host and a command,
    /// and prints on standard error what it does.
    private static Path agent(String name, String way) throws IOException {
        Path agent = hosts.folder().resolve(name);
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

    /// The `ssh` on the `PATH` does not know these hosts.
    private static LauncherProcess startThrough(Path agent, String... arguments)
            throws IOException {
        return hosts.start(
                Map.of(
                        "OMPI_MCA_plm_rsh_agent",
                        agent.toString(),
                        "PATH",
                        System.getenv("PATH"),
                        "HOROVOD_HEARTBEAT_TIMEOUT",
                        "8"),
                arguments);
    }

    private static String ssh() {
        return hosts.folder().resolve("bin/ssh").toString();
    }

    @Test
    void rshAgentReplacesSsh() throws Exception {
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
                        TestJvm.CLASS_PATH,
                        SumOfRanks.class.getName())) {
            assertThat(launcher.exitCode()).as(launcher::stderr).isZero();
            assertThat(launcher.awaitOutput("sum=(3)", 3)).hasSize(3);
            assertThat(Files.readAllLines(Path.of(agent + ".calls")))
                    .containsExactlyInAnyOrder("2 hvdssh1", "2 hvdssh2");
        }
    }

    /// A child of the script holds the connection, and stays when only the script is killed.
    @Test
    void lostHostLeavesNoAgentProcess() throws Exception {
        Path agent = agent("cut-off.sh", ssh() + " \"$host\" \"$*\"");
        try (LauncherProcess launcher =
                startThrough(
                        agent, "-np", "1", "-H", "hvdssh2:1", "sh", "-c", "echo up; sleep 1000")) {
            launcher.awaitOutput("(up)", 1);
            hosts.cutLink(2);
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr())
                    .contains("lost contact with host hvdssh2 (rank 0): it was silent for");
            String connection = hosts.folder().resolve("ssh_config").toString();
            await().atMost(TIMEOUT)
                    .until(
                            () ->
                                    Processes.withCommandLine(agent.toString()).isEmpty()
                                            && Processes.withCommandLine(connection).isEmpty());
        } finally {
            hosts.restoreLink(2);
        }
    }

    @Test
    void failingRshAgentIsNamed() throws Exception {
        Path deaf = agent("deaf.sh", ssh() + " -n \"$host\" \"$*\"");
        try (LauncherProcess launcher = startThrough(deaf, "-np", "1", "-H", "hvdssh1:1", "true")) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr())
                    .contains(
                            "hvdssh1 is not ready: "
                                    + deaf
                                    + ", which OMPI_MCA_plm_rsh_agent names, ended (")
                    .contains("Let '" + deaf + " hvdssh1 cat' repeat what it reads first");
        }
        Path missing = hosts.folder().resolve("no-agent.sh");
        try (LauncherProcess launcher =
                startThrough(missing, "-np", "1", "-H", "hvdssh1:1", "true")) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr())
                    .containsPattern(
                            "hvdssh1 is not ready: "
                                    + missing
                                    + ", which .* ended \\(exit code 127\\): ");
        }
    }
}
