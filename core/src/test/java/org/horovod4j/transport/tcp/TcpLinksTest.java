package org.horovod4j.transport.tcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.horovod4j.PeerLostException;
import org.horovod4j.security.Protection;
import org.horovod4j.security.Secret;
import org.horovod4j.spi.RankInfo;
import org.horovod4j.transport.Link;
import org.horovod4j.transport.LinkBrokenException;
import org.horovod4j.transport.Links;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;

/// How links are opened and reset.
@ParameterizedClass(name = "{0}")
@EnumSource(Protection.class)
final class TcpLinksTest {
    private final Protection protection;

    TcpLinksTest(Protection protection) {
        this.protection = protection;
    }

    @ParameterizedTest(name = "{0} streams")
    @ValueSource(ints = {1, 4})
    void allPairsOpenAtOnceFromBothSides(int streams) throws Exception {
        int size = 5;
        try (TcpWorld world = TcpWorld.joined(protection, size, streams)) {
            world.onEach(rank -> exchangeWithAll(world.links(rank), rank, size));
        }
    }

    @Test
    void linkIsOpenedOnce() throws Exception {
        try (TcpWorld world = TcpWorld.joined(protection, 2, 1)) {
            world.onEach(
                    rank -> {
                        Link link = world.links(rank).link(1 - rank);
                        assertThat(world.links(rank).link(1 - rank)).isSameAs(link);
                    });
        }
    }

    @Test
    void connectionBeforeMembersAreKnownIsKept() throws Exception {
        try (TcpWorld world = new TcpWorld(protection, 2, 2)) {
            Link early = world.join(1, 7, () -> {}).link(0);
            Future<?> late =
                    world.async(() -> exchangeRanks(world.join(0, 7, () -> {}).link(1), 0));
            exchangeRanks(early, 1);
            late.get();
        }
    }

    @Test
    void connectionFromAnotherWorldIsRejected() throws Exception {
        try (TcpWorld world = new TcpWorld(protection, 2, 1)) {
            world.join(0, 8, () -> {});
            Links stranger = world.join(1, 7, () -> {});

            assertThatThrownBy(() -> stranger.link(0)).isInstanceOf(LinkBrokenException.class);
        }
    }

    @Test
    void linksWorkAfterReset() throws Exception {
        try (TcpWorld world = TcpWorld.joined(protection, 3, 2)) {
            for (int round = 0; round < 3; round++) {
                world.onEach(
                        rank -> {
                            Links links = world.links(rank);
                            exchangeWithAll(links, rank, 3);
                            links.reset();
                        });
            }
        }
    }

    @Test
    void resetRejectsOldEpochAndKeepsNewerConnections() throws Exception {
        try (TcpWorld world = TcpWorld.joined(protection, 3, 1)) {
            world.links(2).reset();
            Link ahead = world.links(2).link(1); // kept by rank 1 until it resets
            world.links(0).reset();
            assertThatThrownBy(() -> world.links(1).link(0))
                    .isInstanceOf(LinkBrokenException.class)
                    .hasMessageContaining("the rank has reset its links");

            world.links(1).reset();
            Future<?> other = world.async(() -> exchangeRanks(world.links(1).link(2), 1));
            exchangeRanks(ahead, 2);
            other.get();
        }
    }

    @Test
    void unreachableRankErrorListsEveryAddress() throws Exception {
        InetSocketAddress closed;
        try (ServerSocket socket = new ServerSocket(0)) {
            closed = new InetSocketAddress(InetAddress.getLoopbackAddress(), socket.getLocalPort());
        }
        try (TcpTransport stranger = open(Secret.random(), 5);
                TcpTransport channels = open(Secret.random(), 1)) {
            InetSocketAddress foreign = stranger.addresses().getLast();
            RankInfo other = new RankInfo(0, "h", "m", "", 1, "", List.of(closed, foreign));
            RankInfo self = new RankInfo(1, "h", "m", "", 1, "", channels.addresses());
            channels.setMembers(List.of(other, self), 1);
            Links links = channels.open(0, () -> {});

            assertThatThrownBy(() -> links.link(0))
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("from rank 1 (h) to rank 0 (h)")
                    .hasMessageContaining(closed + ": Connection refused")
                    .hasMessageContaining(foreign + ": refused our proof");
        }
    }

    @Test
    void addressOfAnotherRankIsSkipped() throws Exception {
        try (TcpWorld world = new TcpWorld(protection, 3, 1)) {
            List<InetSocketAddress> misleading = new ArrayList<>();
            misleading.add(world.members.get(1).addresses().getFirst());
            misleading.addAll(world.members.getFirst().addresses());
            world.members.set(0, new RankInfo(0, "host0", "machine0", "", 1, "", misleading));
            world.join(0, 1, () -> {});
            Links caller = world.join(2, 1, () -> {});

            Future<?> other = world.async(() -> exchangeRanks(world.links(0).link(2), 0));
            exchangeRanks(caller.link(0), 2);
            other.get();
        }
    }

    @Test
    void livenessExceptionEndsWaitingForPeer() throws Exception {
        try (TcpWorld world = new TcpWorld(protection, 2, 1)) {
            Links waiting =
                    world.join(
                            0,
                            1,
                            () -> {
                                throw new PeerLostException(1, "host1", "rank 1 is gone", null);
                            });

            assertThatThrownBy(() -> waiting.link(1)).hasMessage("rank 1 is gone");
        }
    }

    @Test
    void addressesListLoopbackLast() {
        try (TcpTransport channels = open(Secret.random(), 0)) {
            assertThat(channels.addresses())
                    .isNotEmpty()
                    .noneMatch(address -> address.getAddress().isLinkLocalAddress())
                    .isSortedAccordingTo(
                            (a, b) ->
                                    Boolean.compare(
                                            a.getAddress().isLoopbackAddress(),
                                            b.getAddress().isLoopbackAddress()));
        }
    }

    private TcpTransport open(Secret secret, int rank) {
        return TcpTransport.listen(
                secret.withProtection(protection), rank, Duration.ofSeconds(10), TcpTuning.DEFAULT);
    }

    /// All ranks use ascending order: otherwise they could wait for each other in a cycle.
    private static void exchangeWithAll(Links links, int rank, int size) {
        for (int peer = 0; peer < size; peer++) {
            if (peer != rank) {
                exchangeRanks(links.link(peer), rank);
            }
        }
    }

    /// Sends this rank's number and checks that the peer's arrives.
    private static void exchangeRanks(Link link, int rank) {
        assertThat(Transfers.exchangeByte(link, (byte) rank)).isEqualTo((byte) link.peer());
    }
}
