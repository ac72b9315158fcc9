package org.horovod4j.transport.tcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import org.horovod4j.PeerLostException;
import org.horovod4j.transport.Link;
import org.horovod4j.transport.LinkBrokenException;
import org.horovod4j.transport.Links;
import org.horovod4j.transport.ProcessSetLinks;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;

/// Channels are independent.
@Timeout(
        value = 60,
        threadMode = Timeout.ThreadMode.SEPARATE_THREAD) // a rank may wait for a rank that failed
final class TcpTransportTest {
    @Test
    void bytesOfDifferentChannelsDoNotMix() throws Exception {
        int channels = 50;
        try (TcpWorld world = TcpWorld.joined(3, 2)) {
            world.onEach(
                    rank -> {
                        List<Links> opened = new ArrayList<>();
                        for (int id = 1; id <= channels; id++) {
                            opened.add(world.open(rank, id));
                        }
                        for (int i = 0; i < channels; i++) {
                            for (int peer = 0; peer < 3; peer++) {
                                if (peer != rank) {
                                    byte mine = (byte) (10 * i + rank);
                                    assertThat(
                                                    Transfers.exchangeByte(
                                                            opened.get(i).link(peer), mine))
                                            .isEqualTo((byte) (10 * i + peer));
                                }
                            }
                        }
                    });
        }
    }

    @Test
    void resetAffectsOneChannelOnly() throws Exception {
        try (TcpWorld world = TcpWorld.joined(2, 1)) {
            world.onEach(
                    rank -> {
                        Links steady = world.links(rank);
                        Links changing = world.open(rank, 1);
                        Link kept = steady.link(1 - rank);
                        for (int round = 0; round < 3; round++) {
                            Transfers.exchangeByte(changing.link(1 - rank), (byte) round);
                            changing.reset();
                            assertThat(steady.link(1 - rank)).isSameAs(kept);
                            assertThat(Transfers.exchangeByte(kept, (byte) rank))
                                    .isEqualTo((byte) (1 - rank));
                        }
                    });
        }
    }

    @Test
    void connectionWaitsUntilChannelIsOpened() throws Exception {
        try (TcpWorld world = TcpWorld.joined(2, 3)) {
            Links early = world.open(1, 7);
            early.reset();
            early.reset();
            Link ahead = early.link(0); // does not wait for the other rank

            Links late = world.open(0, 7);
            Future<?> other =
                    world.async(
                            () -> {
                                late.reset();
                                late.reset();
                                assertThat(Transfers.exchangeByte(late.link(1), (byte) 0)).isOne();
                            });
            assertThat(Transfers.exchangeByte(ahead, (byte) 1)).isZero();
            other.get();
        }
    }

    @Test
    void closedChannelRejectsConnections() throws Exception {
        try (TcpWorld world = TcpWorld.joined(2, 1)) {
            Links caller = world.open(1, 7);
            Links callee = world.open(0, 7);
            Link waiting = caller.link(0); // accepted by rank 0, but not used
            callee.close();
            assertThat(broken(waiting)).contains("rank 0");

            caller.reset();
            assertThatThrownBy(() -> caller.link(0))
                    .isInstanceOf(LinkBrokenException.class)
                    .hasMessageContaining("connecting to rank 0: the rank has closed this channel");
            assertThatThrownBy(() -> callee.link(1)).isInstanceOf(LinkBrokenException.class);
            assertThatThrownBy(() -> world.open(0, 7))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("rank 0 has opened channel 7 before");
            world.onEach(
                    rank -> Transfers.exchangeByte(world.links(rank).link(1 - rank), (byte) rank));
        }
    }

    @Test
    void closingAChannelClosesOnlyItsLinks() throws Exception {
        try (TcpWorld world = TcpWorld.joined(2, 1)) {
            world.onEach(
                    rank -> {
                        Links closing = world.open(rank, 1);
                        Link link = closing.link(1 - rank);
                        Transfers.exchangeByte(link, (byte) rank);
                        if (rank == 0) {
                            closing.close();
                        } else {
                            assertThat(broken(link)).contains("rank 0");
                        }
                        Transfers.exchangeByte(world.links(rank).link(1 - rank), (byte) rank);
                    });
        }
    }

    @Test
    void closingAllClosesEveryChannel() throws Exception {
        try (TcpWorld world = TcpWorld.joined(2, 1)) {
            Links other = world.open(0, 3);
            world.channels.getFirst().close();

            assertThatThrownBy(() -> other.link(1)).isInstanceOf(LinkBrokenException.class);
            assertThatThrownBy(() -> world.links(0).link(1))
                    .isInstanceOf(LinkBrokenException.class);
            assertThatThrownBy(() -> world.open(0, 4)).isInstanceOf(IllegalStateException.class);
        }
    }

    @Test
    void eachChannelUsesItsOwnLiveness() throws Exception {
        try (TcpWorld world = TcpWorld.joined(2, 1)) {
            Links ended =
                    world.channels
                            .getFirst()
                            .open(
                                    1,
                                    () -> {
                                        throw new PeerLostException(1, "host1", "gone", null);
                                    });
            assertThatThrownBy(() -> ended.link(1)).isInstanceOf(PeerLostException.class);
            world.onEach(
                    rank -> Transfers.exchangeByte(world.links(rank).link(1 - rank), (byte) rank));
        }
    }

    @Test
    void streamCountChangesOnReset() throws Exception {
        try (TcpWorld world = TcpWorld.joined(2, 1);
                Arena arena = Arena.ofShared()) {
            for (int streams : List.of(3, 1, 0)) {
                world.onEach(
                        rank -> {
                            Links links = world.links(rank);
                            links.useStreams(streams);
                            links.reset();
                            MemorySegment out = arena.allocate(1_000_003).fill((byte) rank);
                            MemorySegment in = arena.allocate(1_000_003);
                            Link link = links.link(1 - rank);
                            Transfers.exchange(link, out, in);
                            out.fill((byte) (1 - rank));
                            assertThat(in.mismatch(out)).isEqualTo(-1);
                            assertThat(link)
                                    .isInstanceOfSatisfying(
                                            TcpLink.class,
                                            tcp ->
                                                    assertThat(tcp.streams())
                                                            .isEqualTo(Math.max(streams, 1)));
                        });
            }
            assertThatThrownBy(() -> world.links(0).useStreams(65))
                    .isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void processSetLinksMapSetRankToWorldRank() throws Exception {
        List<Integer> members = List.of(3, 1); // world ranks by set rank
        try (TcpWorld world = TcpWorld.joined(4, 1)) {
            world.onEach(
                    rank -> {
                        int setRank = members.indexOf(rank);
                        if (setRank >= 0) {
                            Links links = new ProcessSetLinks(world.open(rank, 1), members);
                            Link link = links.link(1 - setRank);
                            assertThat(link.peer()).isEqualTo(members.get(1 - setRank));
                            assertThat(Transfers.exchangeByte(link, (byte) setRank))
                                    .isEqualTo((byte) (1 - setRank));
                        }
                    });
        }
    }

    /// The exception message of a link whose peer has closed it.
    private static String broken(Link link) {
        MemorySegment one = Arena.ofAuto().allocate(1);
        AtomicReference<String> end = new AtomicReference<>("");
        await().until(
                        () -> {
                            try {
                                return link.tryReceive(one, 0, 1) > 0;
                            } catch (LinkBrokenException e) {
                                end.set(String.valueOf(e.getMessage()));
                                return true;
                            }
                        });
        return end.get();
    }
}
