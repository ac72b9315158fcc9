package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

import java.util.List;
import java.util.Map;

/// Counts what three hosts with two ranks each send over their network interfaces. No host may send
/// more than an operation needs, apart from headers and a few control messages.
@Tag("slow")
class HostTrafficIT {
    private static final int HOSTS = 3;
    private static final long BYTES = 4L * HostTraffic.ELEMENTS;

    /// What the busiest host has to send at least.
    private static final Map<String, Long> MINIMUM =
            Map.of(
                    "allreduce", 2 * BYTES * (HOSTS - 1) / HOSTS,
                    "reducescatter", BYTES * (HOSTS - 1) / HOSTS,
                    "broadcast", BYTES,
                    "allgather", BYTES * (HOSTS - 1) / HOSTS,
                    "alltoall", BYTES / HOSTS * (HOSTS - 1) / HOSTS);

    @RegisterExtension static final SshCluster hosts = new SshCluster();

    @Test
    void noHostSendsMoreThanNeeded() throws Exception {
        try (LauncherProcess launcher =
                hosts.startOnAll(
                        Map.of(), "java", "-cp", TestJvm.CLASS_PATH, HostTraffic.class.getName())) {
            assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
            MINIMUM.forEach(
                    (operation, minimum) -> {
                        List<Long> sent =
                                launcher.awaitOutput(operation + "=(\\d+)", HOSTS).stream()
                                        .map(Long::valueOf)
                                        .toList();
                        assertThat(sent)
                                .as("bytes sent by each host in %s, of %d", operation, minimum)
                                .hasSize(HOSTS)
                                .allMatch(bytes -> bytes <= minimum + minimum / 20)
                                .anyMatch(bytes -> bytes >= minimum - minimum / 20);
                    });
        }
    }
}
