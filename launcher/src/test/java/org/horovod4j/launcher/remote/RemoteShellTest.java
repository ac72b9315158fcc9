package org.horovod4j.launcher.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Login;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;

class RemoteShellTest {
    private static final Host HOST = new Host("far", 1);
    private static final RemoteHostSettings JOB =
            new RemoteHostSettings(
                    "A=b",
                    Duration.ofSeconds(10),
                    Duration.ofSeconds(5),
                    Path.of("/"),
                    null,
                    List.of(),
                    Map.of());

    private static RemoteShell shell(String agent) {
        return RemoteShell.of(Map.of("OMPI_MCA_plm_rsh_agent", agent));
    }

    @Test
    void sshRunsInBatchModeWithLogin() throws Exception {
        Host host = new Host("far", 1, new Login("ann", 2200, Path.of("key")));
        RemoteShell ssh = RemoteShell.of(Map.of());
        assertThat(String.join(" ", ssh.commandLine(host, JOB, "command")))
                .startsWith("ssh ")
                .contains("-o BatchMode=yes", "-o ConnectTimeout=5", "-o ServerAliveInterval=4")
                .endsWith("-p 2200 -i key -l ann -- far command");
        assertThat(String.join(" ", ssh.commandLine(HOST, JOB, "command")))
                .doesNotContain(" -p ", " -i ", " -l ");
    }

    @ParameterizedTest
    @ValueSource(strings = {"", " ", "ssh", "ssh : rsh", ":"})
    void sshIsTheDefault(String agent) {
        assertThat(shell(agent)).isEqualTo(RemoteShell.of(Map.of()));
    }

    @ParameterizedTest
    @CsvSource({
        "/etc/mpi/kubexec.sh, /etc/mpi/kubexec.sh",
        "/etc/mpi/kubexec.sh : ssh, /etc/mpi/kubexec.sh",
        "' rsh  -n ', rsh -n",
        "ssh -q, ssh -q"
    })
    void rshAgentGetsOnlyHostAndCommand(String agent, String words) throws Exception {
        assertThat(String.join(" ", shell(agent).commandLine(HOST, JOB, "the command")))
                .isEqualTo(words + " far the command");
        assertThat(shell(agent).commandLine(HOST, JOB, "the command"))
                .endsWith("far", "the command");
    }

    @Test
    void rshAgentRejectsLoginOptions() {
        for (Login login :
                List.of(
                        new Login("ann", null, null),
                        new Login(null, 22, null),
                        new Login(null, null, Path.of("key")))) {
            assertThatThrownBy(
                            () ->
                                    shell("/exec.sh")
                                            .commandLine(new Host("far", 1, login), JOB, "x"))
                    .isInstanceOf(HostNotReadyException.class)
                    .hasMessageContainingAll("passed to /exec.sh", "OMPI_MCA_plm_rsh_agent");
        }
    }

    @Test
    void failedRshAgentIsReportedWithLastLine() {
        SshErrors complaints = new SshErrors();
        assertThat(shell("/exec.sh -x").explain(HOST, complaints, "exit code 0"))
                .startsWith("/exec.sh, which OMPI_MCA_plm_rsh_agent names, ended (exit code 0)")
                .contains(" without a message. Let '/exec.sh -x far cat' repeat");
        complaints.add("no such pod");
        assertThat(shell("/exec.sh").explain(HOST, complaints, "exit code 1"))
                .contains("ended (exit code 1): no such pod. Let ");
    }
}
