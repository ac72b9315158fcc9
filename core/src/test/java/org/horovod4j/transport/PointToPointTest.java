package org.horovod4j.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.transport.local.LocalRings;
import org.horovod4j.transport.local.LocalTransport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/// Ranks exchange messages over local links, each on its own thread.
class PointToPointTest {
    private final LocalRings pipes = new LocalRings();

    /// What a rank does.
    private interface Body {
        void run(int rank, PointToPoint pointToPoint);
    }

    private void onEach(int size, Body body) throws Exception {
        try (ExecutorService threads = Executors.newFixedThreadPool(size)) {
            List<Future<?>> ranks = new ArrayList<>();
            for (int i = 0; i < size; i++) {
                int rank = i;
                ranks.add(
                        threads.submit(
                                () -> {
                                    try (PointToPoint pointToPoint = pointToPoint(rank)) {
                                        body.run(rank, pointToPoint);
                                    }
                                }));
            }
            for (Future<?> rank : ranks) {
                rank.get();
            }
        }
    }

    private PointToPoint pointToPoint(int rank) {
        return new PointToPoint(
                new LocalTransport(pipes, rank).open(0, () -> {}),
                new IdleStrategy(() -> {}, Clock.SYSTEM, true));
    }

    private static MemorySegment random(int length, int seed) {
        byte[] bytes = new byte[length];
        new SplittableRandom(seed).nextBytes(bytes);
        return MemorySegment.ofArray(bytes);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 7, 65_528, 65_537, 131_080, 1_000_003})
    void twoRanksExchangeMessagesOfAnyLength(int length) throws Exception {
        onEach(
                2,
                (rank, pointToPoint) -> {
                    int other = 1 - rank;
                    for (int round = 0; round < 3; round++) {
                        pointToPoint.begin(round);
                        MemorySegment received = MemorySegment.ofArray(new byte[length]);
                        pointToPoint.exchange(
                                other,
                                random(length, rank),
                                0,
                                length,
                                other,
                                MessageSink.into(received, 0, length));
                        assertThat(received.mismatch(random(length, other))).isEqualTo(-1);
                    }
                });
    }

    @Test
    void ringExchangeWithDifferentLengths() throws Exception {
        onEach(
                3,
                (rank, pointToPoint) -> {
                    pointToPoint.begin(1);
                    int left = (rank + 2) % 3;
                    MemorySegment out = random(100_003 * rank, rank);
                    MemorySegment in = MemorySegment.ofArray(new byte[100_003 * left]);
                    MessageSink messageSink = MessageSink.into(in, 0, in.byteSize());
                    pointToPoint.exchange(
                            (rank + 1) % 3, out, 0, out.byteSize(), left, messageSink);
                    assertThat(in.mismatch(random(100_003 * left, left))).isEqualTo(-1);
                });
    }

    /// Three ranks pass what arrives on, twice around, without waiting in between.
    @Test
    void startedMessagesFollowEachOther() throws Exception {
        int length = 100_003;
        onEach(
                3,
                (rank, pointToPoint) -> {
                    pointToPoint.begin(1);
                    int right = (rank + 1) % 3;
                    int left = (rank + 2) % 3;
                    pointToPoint.open(right);
                    pointToPoint.open(left);
                    MemorySegment memory = MemorySegment.ofArray(new byte[6 * length]);
                    MemorySegment out = random(length, rank);
                    OutgoingMessage _ = pointToPoint.startSend(right, out, 0, length);
                    for (int step = 0; step < 6; step++) {
                        MessageSink sink = MessageSink.into(memory, (long) step * length, length);
                        IncomingMessage received = pointToPoint.startReceive(left, sink);
                        if (step < 5) {
                            OutgoingMessage _ =
                                    pointToPoint.startForward(
                                            right,
                                            memory,
                                            (long) step * length,
                                            length,
                                            received,
                                            0);
                        }
                    }
                    assertThat(pointToPoint.started()).isEqualTo(12);
                    pointToPoint.await(2); // the first message in each direction
                    assertThat(memory.asSlice(0, length).mismatch(random(length, left)))
                            .isEqualTo(-1);
                    pointToPoint.awaitAll();
                    for (int step = 0; step < 6; step++) {
                        int origin = Math.floorMod(rank - 1 - step, 3);
                        assertThat(
                                        memory.asSlice((long) step * length, length)
                                                .mismatch(random(length, origin)))
                                .isEqualTo(-1);
                    }
                });
    }

    /// The first 30 bytes of the forwarded message are skipped, or 20 other bytes come before it.
    @ParameterizedTest
    @ValueSource(ints = {30, -20})
    void partOfAMessageIsForwarded(int skipped) throws Exception {
        int length = 100_003;
        int end = length - Math.max(skipped, 0);
        onEach(
                3,
                (rank, pointToPoint) -> {
                    pointToPoint.begin(1);
                    if (rank == 0) {
                        pointToPoint.send(1, random(length, 0), 0, length);
                    } else if (rank == 1) {
                        pointToPoint.open(0);
                        pointToPoint.open(2);
                        MemorySegment memory = random(length + 20, 1);
                        IncomingMessage received =
                                pointToPoint.startReceive(0, MessageSink.into(memory, 20, length));
                        OutgoingMessage _ =
                                pointToPoint.startForward(
                                        2, memory, 20 + skipped, end, received, skipped);
                        pointToPoint.awaitAll();
                    } else {
                        MemorySegment expected = random(length + 20, 1);
                        MemorySegment.copy(random(length, 0), 0, expected, 20, length);
                        MemorySegment received = MemorySegment.ofArray(new byte[end]);
                        pointToPoint.receive(1, MessageSink.into(received, 0, end));
                        assertThat(received.mismatch(expected.asSlice(20 + skipped, end)))
                                .isEqualTo(-1);
                    }
                });
    }

    @Test
    void messageNeedsAnOpenLink() {
        try (PointToPoint sender = pointToPoint(0)) {
            sender.begin(1);
            assertThatThrownBy(() -> sender.startSend(1, random(5, 1), 0, 5))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessage("the link to rank 1 is not open");
        }
    }

    @Test
    void partsOfALargerSegmentAreSentAndReceived() throws Exception {
        onEach(
                2,
                (rank, pointToPoint) -> {
                    pointToPoint.begin(1);
                    MemorySegment whole = random(1_000, rank);
                    if (rank == 0) {
                        pointToPoint.send(1, whole, 13, 501);
                        return;
                    }
                    MemorySegment original = random(1_000, rank);
                    pointToPoint.receive(0, MessageSink.into(whole, 7, 501));
                    assertThat(whole.asSlice(7, 501).mismatch(random(1_000, 0).asSlice(13, 501)))
                            .isEqualTo(-1);
                    assertThat(whole.asSlice(0, 7).mismatch(original.asSlice(0, 7))).isEqualTo(-1);
                    assertThat(whole.asSlice(508).mismatch(original.asSlice(508))).isEqualTo(-1);
                });
    }

    @Test
    void stampMismatchIsRejected() throws Exception {
        onEach(
                2,
                (rank, pointToPoint) -> {
                    pointToPoint.begin(rank);
                    MemorySegment tensor = random(8, rank);
                    MessageSink messageSink = MessageSink.into(tensor, 0, 8);
                    assertThatThrownBy(
                                    () ->
                                            pointToPoint.exchange(
                                                    1 - rank, tensor, 0, 8, 1 - rank, messageSink))
                            .isInstanceOf(StampMismatchException.class)
                            .hasMessageContaining("rank " + (1 - rank));
                    assertThat(tensor.mismatch(random(8, rank))).isEqualTo(-1);
                });
    }

    @Test
    void resetDropsMessagesInFlight() {
        try (PointToPoint sender = pointToPoint(0);
                PointToPoint receiver = pointToPoint(1)) {
            sender.begin(1);
            sender.send(1, random(100, 1), 0, 100);
            sender.reset();
            receiver.reset();
            sender.begin(2);
            receiver.begin(2);
            sender.send(1, random(100, 2), 0, 100);
            MemorySegment received = MemorySegment.ofArray(new byte[100]);
            receiver.receive(0, MessageSink.into(received, 0, 100));
            assertThat(received.mismatch(random(100, 2))).isEqualTo(-1);
        }
    }

    @Test
    void receivingFromClosedPeerThrowsLinkBroken() {
        PointToPoint receiver = pointToPoint(1);
        try (PointToPoint sender = pointToPoint(0)) {
            sender.begin(1);
            receiver.begin(1);
            sender.send(1, random(5, 1), 0, 5);
        }
        MemorySegment received = MemorySegment.ofArray(new byte[5]);
        // The bytes sent before the close still arrive.
        receiver.receive(0, MessageSink.into(received, 0, 5));
        assertThatThrownBy(() -> receiver.receive(0, MessageSink.into(received, 0, 5)))
                .isInstanceOf(LinkBrokenException.class)
                .hasMessageContaining("rank 0");
        receiver.close();
    }
}
