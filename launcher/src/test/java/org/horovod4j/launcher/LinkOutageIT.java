package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

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
import java.util.List;

/// Jobs over two hosts behind real ssh while the link of one host is cut. Training must survive an
/// outage after which the kernel resends lost bytes before the heartbeat timeout. A longer one must
/// be blamed on the host that was cut.
@Tag("slow")
class LinkOutageIT {
    @RegisterExtension static final SshCluster hosts = new SshCluster();

    /// Ends the job when it exists.
    private static Path end() {
        return hosts.folder().resolve("end");
    }

    private static LauncherProcess start(int timeoutSeconds) throws IOException {
        Files.deleteIfExists(end());
        return hosts.start(
                "-np",
                "4",
                "-H",
                "hvdssh1:2,hvdssh2:2",
                "--heartbeat-timeout",
                Integer.toString(timeoutSeconds),
                "java",
                "-cp",
                TestJvm.CLASS_PATH,
                ExactSums.class.getName(),
                end().toString());
    }

    private static int steps(LauncherProcess launcher) {
        List<String> steps = launcher.awaitOutput("step=(\\d+)", 1);
        return Integer.parseInt(steps.getLast());
    }

    @ParameterizedTest(name = "{0} s of {1} s, host {2}")
    @CsvSource({"1, 10, 2", "3, 10, 2", "6, 10, 1", "6, 10, 2", "20, 30, 2"})
    void trainingContinuesAfterOutage(int outageSeconds, int timeoutSeconds, int host)
            throws Exception {
        try (LauncherProcess launcher = start(timeoutSeconds)) {
            int before = steps(launcher);
            Duration outage = Duration.ofSeconds(outageSeconds);
            try {
                hosts.cutLink(host);
                await().pollDelay(outage).atMost(outage.plusSeconds(30)).until(() -> true);
            } finally {
                hosts.restoreLink(host);
            }
            int during = steps(launcher);
            assertThat(during).isGreaterThanOrEqualTo(before);
            await().atMost(Duration.ofSeconds(60))
                    .until(() -> !launcher.isAlive() || steps(launcher) > during + 1000);
            Files.createFile(end());
            assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
            assertThat(launcher.awaitOutput("(all exact)", 4)).hasSize(4);
            assertThat(launcher.stderr()).doesNotContain("lost");
        }
    }

    @ParameterizedTest(name = "host {0}")
    @ValueSource(ints = {1, 2})
    void longerOutageIsBlamedOnItsHost(int host) throws Exception {
        try (LauncherProcess launcher = start(10)) {
            int _ = steps(launcher);
            try {
                hosts.cutLink(host);
                assertThat(launcher.exitCode()).as(launcher.stderr()).isOne();
            } finally {
                hosts.restoreLink(host);
            }
            assertThat(launcher.stderr())
                    .contains("lost contact with host hvdssh" + host)
                    .containsPattern(
                            "First to fail was rank \\d on hvdssh%d .*: contact with its host was lost"
                                    .formatted(host));
        }
    }
}
