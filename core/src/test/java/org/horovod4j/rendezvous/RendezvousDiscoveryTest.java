package org.horovod4j.rendezvous;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.horovod4j.security.Protection;
import org.horovod4j.security.Secret;
import org.horovod4j.testsupport.FreePort;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

@Timeout(60)
class RendezvousDiscoveryTest {
    private static final String JOB = "job";
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final Duration SHORT = Duration.ofMillis(200);

    @TempDir Path home;

    @Test
    void ranksFindServerInAnyStartOrder() throws Exception {
        Secret secret = Secret.random();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
                RendezvousServer server = server(secret)) {
            List<Future<RendezvousServerInfo>> found = new ArrayList<>();
            for (int rank = 1; rank <= 10; rank++) {
                String who = "rank " + rank;
                found.add(threads.submit(() -> discovery(LONG).await(who, "here")));
            }
            publish(secret, server.address().getPort());
            for (Future<RendezvousServerInfo> each : found) {
                assertThat(each.get().secret().encode()).isEqualTo(secret.encode());
            }
            assertThat(discovery(LONG).await("rank 11", "here").servers()).hasSize(1);
        }
    }

    @Test
    void staleInfoOfKilledRunIsIgnored() throws Exception {
        Secret fresh = Secret.random();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
                RendezvousServer server = server(fresh)) {
            publish(Secret.random(), FreePort.choose()); // no server is there
            Future<RendezvousServerInfo> found =
                    threads.submit(() -> discovery(LONG).await("rank 1", "here"));
            publish(
                    Secret.random(),
                    server.address().getPort()); // a server with another secret is there
            publish(fresh, server.address().getPort());
            assertThat(found.get().secret().encode()).isEqualTo(fresh.encode());
        }
    }

    @Test
    void timeoutErrorNamesFileAndHost() {
        assertThatThrownBy(() -> discovery(SHORT).await("rank 3 of 8, by SLURM_PROCID", "node2"))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining(
                        "rank 3 of 8, by SLURM_PROCID has waited 0.2 s for the file that rank 0 writes")
                .hasMessageContaining("looked for: " + folder().file(JOB) + ", on host node2")
                .hasMessageContaining("found: nothing")
                .hasMessageContaining("HOROVOD_RENDEZVOUS_FOLDER");
    }

    @Test
    void timeoutErrorListsAddressesOfSilentServer() throws Exception {
        int port = FreePort.choose();
        publish(Secret.random(), port);
        assertThatThrownBy(() -> discovery(SHORT).await("rank 1 of 2", "node2"))
                .hasMessageContaining("a server that does not answer")
                .hasMessageContaining("127.0.0.1:" + port + ": Connection refused");
    }

    private RendezvousFolder folder() {
        return new RendezvousFolder(home.resolve("meet"));
    }

    private RendezvousDiscovery discovery(Duration limit) {
        return new RendezvousDiscovery(folder(), JOB, limit, Protection.AUTHENTICATED);
    }

    private void publish(Secret secret, int port) {
        InetSocketAddress address = new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), port);
        folder().publish(JOB, new RendezvousServerInfo("the test", List.of(address), secret));
    }

    private static RendezvousServer server(Secret secret) {
        return RendezvousServer.start(
                secret,
                2,
                new InetSocketAddress(InetAddress.ofLiteral("127.0.0.1"), 0),
                LONG,
                LONG);
    }
}
