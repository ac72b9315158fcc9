package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.launcher.plan.Host;
import org.horovod4j.launcher.process.HostAgent;
import org.horovod4j.launcher.process.HostMachine;
import org.horovod4j.launcher.remote.RemoteHostSettings;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;

/// With real agents, which a fake ssh starts on this machine.
@Timeout(120)
class HostsTest {
    private static final Host FAR = new Host("far.invalid", 1);
    private static final Host OTHER = new Host("other.invalid", 1);

    @TempDir Path folder;
    private final List<String> notices = new CopyOnWriteArrayList<>();
    private Hosts hosts;

    @BeforeEach
    void open() throws IOException {
        Path shell = folder.resolve("shell.sh");
        Files.writeString(shell, "#!/bin/sh\nshift\nexec sh -c \"$*\"\n");
        assertThat(shell.toFile().setExecutable(true)).isTrue();
        RemoteHostSettings job =
                new RemoteHostSettings(
                        "HVD_HOSTS_TEST=" + UUID.randomUUID(),
                        Duration.ofSeconds(60),
                        Duration.ofSeconds(60),
                        Path.of("").toAbsolutePath(),
                        null,
                        List.of(),
                        Map.of("OMPI_MCA_plm_rsh_agent", shell.toString()));
        hosts =
                new Hosts(
                        job,
                        List.of(List.of("/bin/true")),
                        Optional.empty(),
                        new CompletableFuture<>(),
                        notices::add);
    }

    @AfterEach
    void close() {
        hosts.close();
    }

    /// Its late events must not affect the host, which is ready again.
    @Test
    void removedAgentIsNotAgentOfReaddedHost() throws Exception {
        HostAgent before = hosts.add(FAR);
        assertThat(hosts.isAgent(before, FAR.name())).isTrue();
        hosts.remove(FAR.name(), () -> {});
        assertThat(hosts.isAgent(before, FAR.name())).isFalse();
        HostAgent now = hosts.add(FAR);
        assertThat(hosts.isAgent(before, FAR.name())).isFalse();
        assertThat(hosts.isAgent(now, FAR.name())).isTrue();
    }

    @Test
    void remoteHostDescribesItsMachineAndMissingJars() throws Exception {
        HostAgent far = hosts.add(FAR);
        assertThat(far.machine()).isEqualTo(HostMachine.current());
        assertThat(far.program(List.of("java", "-cp", "no.jar", "Train")).missingJars())
                .containsExactly("no.jar");
        assertThat(notices).isEmpty(); // the command of the job has no jars
    }

    @Test
    void agentBelongsToOneHost() throws Exception {
        HostAgent far = hosts.add(FAR);
        HostAgent other = hosts.add(OTHER);
        assertThat(hosts.isAgent(far, OTHER.name())).isFalse();
        assertThat(hosts.isAgent(other, OTHER.name())).isTrue();
        assertThat(hosts.isAgent(far, "nowhere.invalid")).isFalse();
    }
}
