package org.horovod4j.runtime.cycle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.HorovodException;
import org.horovod4j.transport.Link;
import org.horovod4j.transport.Links;
import org.horovod4j.transport.local.LocalRings;
import org.horovod4j.transport.local.LocalTransport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/// Control messages arrive complete and in order, even if a link moves few bytes at a time.
class ControlLinksTest {
    private final LocalRings localRings = new LocalRings();

    private Links links(int rank) {
        return new LocalTransport(localRings, rank).open(1, () -> {});
    }

    private static byte[] message(int length, long seed) {
        byte[] bytes = new byte[length];
        new SplittableRandom(seed).nextBytes(bytes);
        return bytes;
    }

    /// A link that moves only a few bytes at a time.
    private record ThrottledLink(Link link, int most) implements Link {
        @Override
        public int peer() {
            return link.peer();
        }

        @Override
        public long trySend(MemorySegment segment, long offset, long length) {
            return link.trySend(segment, offset, Math.min(most, length));
        }

        @Override
        public long tryReceive(MemorySegment segment, long offset, long length) {
            return link.tryReceive(segment, offset, Math.min(most, length));
        }

        @Override
        public void close() {
            link.close();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 3, 4, 5, 1_000, 1 << 20})
    void messagesArriveWholeAndInOrder(int most) {
        int[] lengths = {0, 1, 3, 4, 5, 4_091, 4_092, 4_093, 10_000, 2, 70_001, 0, 9};
        ControlLink from = new ControlLink(new ThrottledLink(links(0).link(1), most));
        ControlLink to = new ControlLink(new ThrottledLink(links(1).link(0), most));
        List<byte[]> received = new ArrayList<>();
        for (int i = 0; i < lengths.length; i++) {
            from.write(message(lengths[i], i));
            if (i % 3 == 0) {
                boolean _ = from.flush();
            }
        }
        boolean sent = false;
        while (!sent || received.size() < lengths.length) {
            sent = from.flush();
            byte[] next = to.poll();
            if (next != null) {
                received.add(next);
            }
        }
        for (int i = 0; i < lengths.length; i++) {
            assertThat(received.get(i)).isEqualTo(message(lengths[i], i));
        }
        assertThat(to.poll()).isNull();
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, Integer.MAX_VALUE})
    void invalidLengthIsRejected(int length) {
        Links source = links(0);
        ControlLink to = new ControlLink(links(1).link(0));
        MemorySegment header = Arena.ofAuto().allocate(ValueLayout.JAVA_INT);
        header.set(ValueLayout.JAVA_INT, 0, length);
        assertThat(source.link(1).trySend(header, 0, Integer.BYTES)).isEqualTo(Integer.BYTES);
        assertThatThrownBy(to::poll)
                .isInstanceOf(HorovodException.class)
                .hasMessageContaining("rank 0 sent a control message of " + length);
    }

    @Test
    void ranksExchangeMessagesWithRankZero() {
        ControlLinks centre = new ControlLinks(links(0)::link, 0, 3);
        ControlLinks one = new ControlLinks(links(1)::link, 1, 3);
        ControlLinks two = new ControlLinks(links(2)::link, 2, 3);
        one.sendToCoordinator(message(3, 1));
        two.sendToCoordinator(message(4, 2));
        List<Integer> ranks = new ArrayList<>();
        for (ControlLinks.ReceivedMessage next = centre.poll();
                next != null;
                next = centre.poll()) {
            ranks.add(next.rank());
            assertThat(next.message()).isEqualTo(message(next.rank() + 2, next.rank()));
        }
        assertThat(ranks).containsExactlyInAnyOrder(1, 2);
        centre.sendToAll(message(9, 9));
        assertThat(centre.flush()).isTrue();
        for (ControlLinks controlLinks : List.of(one, two)) {
            ControlLinks.ReceivedMessage receivedMessage = controlLinks.poll();
            assertThat(receivedMessage).isNotNull();
            assertThat(receivedMessage.message()).isEqualTo(message(9, 9));
            assertThat(controlLinks.poll()).isNull();
        }
    }

    @Test
    void brokenConnectionIsReportedAndOthersContinue() {
        ControlLinks centre = new ControlLinks(links(0)::link, 0, 3);
        Links leaving = links(1);
        ControlLinks one = new ControlLinks(leaving::link, 1, 3);
        ControlLinks two = new ControlLinks(links(2)::link, 2, 3);
        one.sendToCoordinator(message(5, 1));
        leaving.close();
        ControlLinks.ReceivedMessage last = centre.poll(); // sent before it left
        assertThat(last).isNotNull();
        assertThat(last.rank()).isEqualTo(1);
        assertThat(centre.brokenLink()).isNull();
        assertThat(centre.poll()).isNull();
        assertThat(centre.brokenLink()).hasMessageContaining("rank 1");
        two.sendToCoordinator(message(6, 2));
        ControlLinks.ReceivedMessage other = centre.poll();
        assertThat(other).isNotNull();
        assertThat(other.rank()).isEqualTo(2);
    }
}
