package org.horovod4j.transport.tcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.horovod4j.PeerLostException;
import org.horovod4j.spi.Member;
import org.horovod4j.transport.Link;
import org.horovod4j.transport.LinkBrokenException;
import org.horovod4j.transport.Links;
import org.horovod4j.trust.Protection;
import org.horovod4j.trust.Secret;
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

/// How links are found, opened and begun anew.
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
        try (TcpWorld world = TcpWorld.met(protection, size, streams)) {
            world.onEach(rank -> swapWithAll(world.links(rank), rank, size));
        }
    }

    @Test
    void aLinkIsOpenedOnce() throws Exception {
        try (TcpWorld world = TcpWorld.met(protection, 2, 1)) {
            world.onEach(
                    rank -> {
                        Link link = world.links(rank).link(1 - rank);
                        assertThat(world.links(rank).link(1 - rank)).isSameAs(link);
                    });
        }
    }

    @Test
    void aCallMayComeBeforeThisRankHasMetTheOthers() throws Exception {
        try (TcpWorld world = new TcpWorld(protection, 2, 2)) {
            Link early = world.meet(1, 7, () -> {}).link(0);
            Future<?> late = world.async(() -> swapRanks(world.meet(0, 7, () -> {}).link(1), 0));
            swapRanks(early, 1);
            late.get();
        }
    }

    @Test
    void aCallFromAnotherWorldIsTurnedAway() throws Exception {
        try (TcpWorld world = new TcpWorld(protection, 2, 1)) {
            world.meet(0, 8, () -> {});
            Links stranger = world.meet(1, 7, () -> {});

            assertThatThrownBy(() -> stranger.link(0)).isInstanceOf(LinkBrokenException.class);
        }
    }

    @Test
    void linksWorkAgainAfterAllHaveReset() throws Exception {
        try (TcpWorld world = TcpWorld.met(protection, 3, 2)) {
            for (int round = 0; round < 3; round++) {
                world.onEach(
                        rank -> {
                            Links links = world.links(rank);
                            swapWithAll(links, rank, 3);
                            links.reset();
                        });
            }
        }
    }

    @Test
    void aRankThatHasResetKeepsOthersWaitingAndTurnsAwayTheOld() throws Exception {
        try (TcpWorld world = TcpWorld.met(protection, 3, 1)) {
            world.links(2).reset();
            Link ahead = world.links(2).link(1); // kept by rank 1 until it resets
            world.links(0).reset();
            assertThatThrownBy(() -> world.links(1).link(0))
                    .isInstanceOf(LinkBrokenException.class)
                    .hasMessageContaining("the rank has reset its links");

            world.links(1).reset();
            Future<?> other = world.async(() -> swapRanks(world.links(1).link(2), 1));
            swapRanks(ahead, 2);
            other.get();
        }
    }

    @Test
    void anUnreachableRankIsDescribedAddressByAddress() throws Exception {
        InetSocketAddress closed;
        try (ServerSocket socket = new ServerSocket(0)) {
            closed = new InetSocketAddress(InetAddress.getLoopbackAddress(), socket.getLocalPort());
        }
        try (TcpChannels stranger = open(Secret.random(), 5);
                TcpChannels channels = open(Secret.random(), 1)) {
            InetSocketAddress foreign = stranger.addresses().getLast();
            Member other = new Member(0, "h", "", 1, "", List.of(closed, foreign));
            Member self = new Member(1, "h", "", 1, "", channels.addresses());
            channels.meet(List.of(other, self), 1);
            Links links = channels.open(0, () -> {});

            assertThatThrownBy(() -> links.link(0))
                    .isInstanceOf(ConfigurationException.class)
                    .hasMessageContaining("from rank 1 (h) to rank 0 (h)")
                    .hasMessageContaining(closed + ": Connection refused")
                    .hasMessageContaining(foreign + ": refused our proof");
        }
    }

    @Test
    void anotherRankAtTheAddressIsPassedOver() throws Exception {
        try (TcpWorld world = new TcpWorld(protection, 3, 1)) {
            List<InetSocketAddress> misleading = new ArrayList<>();
            misleading.add(world.members.get(1).addresses().getFirst());
            misleading.addAll(world.members.getFirst().addresses());
            world.members.set(0, new Member(0, "host0", "", 1, "", misleading));
            world.meet(0, 1, () -> {});
            Links caller = world.meet(2, 1, () -> {});

            Future<?> other = world.async(() -> swapRanks(world.links(0).link(2), 0));
            swapRanks(caller.link(0), 2);
            other.get();
        }
    }

    @Test
    void waitingForACallEndsWithTheLiveness() throws Exception {
        try (TcpWorld world = new TcpWorld(protection, 2, 1)) {
            Links waiting =
                    world.meet(
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
        try (TcpChannels channels = open(Secret.random(), 0)) {
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

    private TcpChannels open(Secret secret, int rank) {
        return TcpChannels.listen(
                secret.with(protection), rank, Duration.ofSeconds(10), TcpTuning.DEFAULT);
    }

    /// In ascending order on all ranks, or they would wait for each other in a circle.
    private static void swapWithAll(Links links, int rank, int size) {
        for (int peer = 0; peer < size; peer++) {
            if (peer != rank) {
                swapRanks(links.link(peer), rank);
            }
        }
    }

    /// Sends this rank's number and checks that the peer's comes back.
    private static void swapRanks(Link link, int rank) {
        assertThat(Transfers.swap(link, (byte) rank)).isEqualTo((byte) link.peer());
    }
}
