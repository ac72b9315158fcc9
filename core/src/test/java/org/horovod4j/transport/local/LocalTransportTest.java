package org.horovod4j.transport.local;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.transport.ByteRing;
import org.horovod4j.transport.Link;
import org.horovod4j.transport.LinkBrokenException;
import org.horovod4j.transport.Links;
import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/// Channels are independent, and closed rings are removed.
final class LocalTransportTest {
    private final LocalRings localRings = new LocalRings();
    private final LocalTransport zero = new LocalTransport(localRings, 0);
    private final LocalTransport one = new LocalTransport(localRings, 1);
    private final MemorySegment memory = Arena.ofAuto().allocate(1);

    @Test
    void bytesOfDifferentChannelsDoNotMix() {
        Links first = open(zero, 1);
        Links second = open(zero, 2);
        send(first.link(1), 10);
        send(second.link(1), 20);

        assertThat(receive(open(one, 2).link(0))).as("channel opened after the send").isEqualTo(20);
        assertThat(receive(open(one, 1).link(0))).isEqualTo(10);
    }

    @Test
    void resetAffectsOneChannelOnly() {
        Links steady = open(zero, 1);
        Links changing = open(zero, 2);
        Link kept = steady.link(1);
        Link dropped = changing.link(1);
        changing.reset();

        assertThat(steady.link(1)).isSameAs(kept);
        assertThatThrownBy(() -> send(dropped, 1)).isInstanceOf(LinkBrokenException.class);

        Links other = open(one, 2);
        assertThatThrownBy(() -> receive(other.link(0)))
                .as("link of an earlier epoch")
                .isInstanceOf(LinkBrokenException.class);
        other.reset();
        send(changing.link(1), 5);
        assertThat(receive(other.link(0))).isEqualTo(5);
    }

    @Test
    void bytesSentBeforeCloseStillArrive() {
        Links sender = open(zero, 1);
        send(sender.link(1), 7);
        sender.close();

        Link receiver = open(one, 1).link(0);
        assertThat(receive(receiver)).isEqualTo(7);
        assertThatThrownBy(() -> receive(receiver)).isInstanceOf(LinkBrokenException.class);
    }

    @Test
    void channelCannotBeReopened() {
        Links closed = open(zero, 1);
        assertThatThrownBy(() -> open(zero, 1)).isInstanceOf(IllegalStateException.class);
        closed.close();
        assertThatThrownBy(() -> open(zero, 1)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> closed.link(1)).isInstanceOf(LinkBrokenException.class);
        assertThatThrownBy(() -> send(open(one, 1).link(0), 1))
                .as("channel of the peer")
                .isInstanceOf(LinkBrokenException.class);
    }

    @Test
    void closingAllClosesEveryChannel() {
        Links first = open(zero, 1);
        Links second = open(zero, 2);
        zero.close();

        assertThatThrownBy(() -> first.link(1)).isInstanceOf(LinkBrokenException.class);
        assertThatThrownBy(() -> second.link(1)).isInstanceOf(LinkBrokenException.class);
        assertThatThrownBy(() -> open(zero, 3)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void ringsAreRemovedWhenBothEndsClose() {
        Links mine = open(zero, 1);
        Links other = open(one, 1);
        LocalRings.ChannelRings rings = localRings.channel(1);
        for (int round = 0; round < 10; round++) {
            mine.link(1);
            ByteRing ring = rings.ring(0, 1, round);
            mine.reset();
            assertThat(rings.ring(0, 1, round)).as("the peer may still read").isSameAs(ring);
            other.reset();
            assertThat(rings.ring(0, 1, round)).isNotSameAs(ring);
        }
        mine.link(1);
        ByteRing last = rings.ring(0, 1, 10);
        mine.close();
        assertThat(rings.ring(0, 1, 10)).isSameAs(last);
        other.close();
        assertThat(rings.ring(0, 1, 10)).isNotSameAs(last);
    }

    private static Links open(LocalTransport channels, int id) {
        return channels.open(id, () -> {});
    }

    private void send(Link link, int value) {
        memory.set(ValueLayout.JAVA_BYTE, 0, (byte) value);
        assertThat(link.trySend(memory, 0, 1)).isOne();
    }

    private int receive(Link link) {
        assertThat(link.tryReceive(memory, 0, 1)).isOne();
        return memory.get(ValueLayout.JAVA_BYTE, 0);
    }
}
