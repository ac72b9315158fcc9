package org.horovod4j.launcher.remote;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.plan.Login;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.nio.file.Path;
import java.util.List;

class SshErrorsTest {
    private static final Host HOST = new Host("far", 1, new Login("ann", 2200, Path.of("key")));

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "ssh: Could not resolve hostname far: Name or service not known | its name cannot be resolved",
                "ssh: connect to host far port 2201: Connection refused         | refuses connections to port 2201",
                "ssh: connect to host far port 22: Connection timed out         | no connection to its port 22: ssh:",
                "ssh: connect to host far port 22: No route to host             | Check its address, the network",
                "kex_exchange_identification: Connection closed by remote host  | no connection to its port 2200",
                "Host key verification failed.                                  | ssh does not know its host key. Run 'ssh -p 2200 -i key ann@far true'",
                "ann@far: Permission denied (publickey).                        | it refuses the login: Permission denied (publickey).",
                "sh: head: not found                                            | ssh ended (exit code 255): sh: head: not found."
            })
    void sshErrorIsExplainedWithHint(String line, String meaning) {
        assertThat(explained("Some banner", line)).contains(meaning).endsWith(".");
    }

    @Test
    void changedHostKeyIsDistinguishedFromUnknownKey() {
        assertThat(
                        explained(
                                "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @",
                                "Host key verification failed."))
                .contains("not the one that ssh knows", "ssh-keygen -R '[far]:2200'");
    }

    @Test
    void missingIdentityFileIsReported() {
        assertThat(
                        explained(
                                "Warning: Identity file key not accessible: No such file or directory.",
                                "ann@far: Permission denied (publickey)."))
                .contains("The key could not be read (Identity file key not accessible)");
    }

    @Test
    void silentSshFailureIsReported() {
        assertThat(new SshErrors().explain(HOST, "exit code 127"))
                .startsWith("ssh ended (exit code 127) without a message.");
    }

    private static String explained(String... lines) {
        SshErrors complaints = new SshErrors();
        List.of(lines).forEach(complaints::add);
        return complaints.explain(HOST, "exit code 255");
    }
}
