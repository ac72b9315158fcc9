package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/// Jobs over hosts behind real ssh that share two networks, and how to choose one. The launcher's
/// machine is in the first network only, and has no interface of that name.
@Tag("slow")
class SeveralNetworksIT {
    @RegisterExtension static final SshCluster hosts = new SshCluster();

    private static LauncherProcess start(String hostList, String... flags) throws IOException {
        List<String> words = new ArrayList<>(List.of("-np", "2", "-H", hostList));
        words.addAll(List.of(flags));
        words.addAll(List.of("java", "-cp", TestJvm.CLASS_PATH, SumOfRanks.class.getName()));
        return hosts.start(words.toArray(String[]::new));
    }

    @Test
    void usedNetworkIsNamedAndCanBeChosen() throws Exception {
        hosts.addSecondNetwork();
        try {
            try (LauncherProcess launcher = start("hvdssh1:1,hvdssh2:1")) {
                assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
                assertThat(launcher.stderr())
                        .containsOnlyOnce(
                                "Rank 1 reaches hvdssh1 at 10.78.0.1; its addresses are"
                                        + " 10.78.0.1, 10.79.0.1.")
                        .contains("--network-interfaces");
            }
            try (LauncherProcess launcher =
                    start("hvdssh1:1,hvdssh2:1", "--network-interfaces", "eth1")) {
                assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
                assertThat(launcher.awaitOutput("sum=(1)", 2)).hasSize(2);
                assertThat(launcher.stderr()).doesNotContain("networks");
            }
        } finally {
            hosts.removeSecondNetwork();
        }
    }

    @Test
    void hostWithoutNamedInterfaceIsReported() throws Exception {
        // Only the third host has this interface.
        try (LauncherProcess launcher =
                start("hvdssh1:1,hvdssh3:1", "--network-interfaces", "eth1")) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr())
                    .contains("this machine has no network interface 'eth1'", "eth0: 10.78.0.1")
                    .contains("First to fail was rank 0 on hvdssh1");
        }
    }
}
