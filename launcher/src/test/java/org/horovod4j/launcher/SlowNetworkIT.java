package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/// Jobs over hosts behind real ssh with slow links. That is no failure, unless a host cannot be
/// reached in time.
@Tag("slow")
class SlowNetworkIT {
    @RegisterExtension static final SshCluster hosts = new SshCluster();

    @Test
    void slowLinkIsNotHostLoss() throws Exception {
        hosts.limitBandwidth(1, "800kbit");
        String program = "head -c 600000 /dev/zero | tr '\\0' '\\n'";
        try (LauncherProcess launcher =
                hosts.startOnAll(Map.of("HOROVOD_HEARTBEAT_TIMEOUT", "5"), "sh", "-c", program)) {
            assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
            assertThat(launcher.stdout()).hasSize(6 * 600_000 * "[0]<stdout>:\n".length());
        } finally {
            hosts.removeLimits(1);
        }
    }

    /// The short heartbeat timeout would reveal a delay that counts as a lost connection.
    @Test
    void allreduceIsExactOverDelayedLinks() throws Exception {
        List<Integer> distant = new ArrayList<>();
        try {
            for (int host = 1; host <= 3; host++) {
                hosts.delay(host, "20ms");
                distant.add(host);
            }
            try (LauncherProcess launcher =
                    hosts.startOnAll(
                            Map.of("HOROVOD_HEARTBEAT_TIMEOUT", "5"),
                            "java",
                            "-cp",
                            TestJvm.CLASS_PATH,
                            ExactSums.class.getName())) {
                assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
                assertThat(launcher.stdout().lines().filter(line -> line.contains("exact: ")))
                        .hasSize(6)
                        .allMatch(line -> line.endsWith("exact: [1, 2, 7, 1000, 65536, 1000003]"));
            }
        } finally {
            for (int host : distant) {
                hosts.removeLimits(host);
            }
        }
    }

    @Test
    void hostNotReadyInTimeIsReported() throws Exception {
        hosts.limitBandwidth(1, "8kbit");
        try (LauncherProcess launcher =
                hosts.start(
                        Map.of("HOROVOD_START_TIMEOUT", "3"),
                        "-np",
                        "1",
                        "-H",
                        "hvdssh1:1",
                        "true")) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr())
                    .contains("host hvdssh1 is not ready: ")
                    .containsAnyOf("not ready after 3 s", "timed out");
        } finally {
            hosts.removeLimits(1);
        }
    }
}
