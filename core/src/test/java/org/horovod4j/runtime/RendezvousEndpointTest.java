package org.horovod4j.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.horovod4j.option.Environment;
import org.horovod4j.option.RendezvousHost;
import org.horovod4j.option.RendezvousSettings;
import org.horovod4j.option.RendezvousSettings.SecretText;
import org.horovod4j.option.WorkerSettings;
import org.horovod4j.rendezvous.RendezvousClient;
import org.horovod4j.runtime.controller.WorldState;
import org.horovod4j.security.Secret;
import org.horovod4j.spi.RankInfo;
import org.horovod4j.testsupport.FreePort;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

/// A rendezvous in the process of rank 0, at ports that others may occupy.
final class RendezvousEndpointTest {
    private final String secret = Secret.random().encode();

    /// The stranger accepts connections and stays silent.
    @Test
    void rankZeroUsesTheNextPortWhenAStrangerOccupiesTheFirst() throws IOException {
        try (ServerSocket stranger = listen()) {
            RendezvousSettings settings = atPorts(stranger.getLocalPort(), FreePort.choose());
            try (RendezvousEndpoint first = RendezvousEndpoint.open(rank(0), settings);
                    RendezvousEndpoint second = RendezvousEndpoint.open(rank(1), settings)) {
                CompletableFuture<List<RankInfo>> joining =
                        CompletableFuture.supplyAsync(() -> join(second, 1));
                assertThat(join(first, 0)).hasSize(2);
                assertThat(joining.join()).hasSize(2);
            }
        }
    }

    @Test
    void rankZeroFailsWhenAllPortsAreOccupied() throws IOException {
        try (ServerSocket one = listen();
                ServerSocket other = listen()) {
            RendezvousSettings settings = atPorts(one.getLocalPort(), other.getLocalPort());
            assertThatThrownBy(() -> RendezvousEndpoint.open(rank(0), settings))
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("listening at")
                    .hasMessageContaining(Integer.toString(other.getLocalPort()));
        }
    }

    private RendezvousSettings atPorts(Integer... ports) {
        return new RendezvousSettings.Server(
                Stream.of(ports)
                        .map(port -> InetSocketAddress.createUnresolved("127.0.0.1", port))
                        .toList(),
                RendezvousHost.RANK0,
                new SecretText(secret));
    }

    private static ServerSocket listen() throws IOException {
        return new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
    }

    private WorkerSettings rank(int rank) {
        return WorkerSettings.from(
                new Environment(
                        Map.of(
                                "HOROVOD_RANK", Integer.toString(rank),
                                "HOROVOD_SIZE", "2",
                                "HOROVOD_HOSTNAME", "alpha",
                                "HOROVOD_RENDEZVOUS_ADDR", "127.0.0.1",
                                "HOROVOD_RENDEZVOUS_PORT", "1",
                                "HOROVOD_SECRET_KEY", secret)));
    }

    private List<RankInfo> join(RendezvousEndpoint endpoint, int rank) {
        RendezvousClient client = endpoint.client(rank(rank), 0);
        RankInfo self = new RankInfo(rank, "alpha", "alpha", "", 1, "", List.of());
        List<RankInfo> members = client.join(self, new WorldState());
        client.leave(Map.of(), true, "done");
        client.close();
        return members;
    }
}
