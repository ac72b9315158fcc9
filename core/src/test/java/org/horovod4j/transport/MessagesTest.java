package org.horovod4j.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.SplittableRandom;

/// [OutgoingMessage] and [IncomingMessage] over a link that transfers a few bytes at a time, from
/// and to any memory.
class MessagesTest {
    private static final long STAMP = 0x1234_5678_9abc_def0L;
    private static final int BUFFER = PointToPoint.STAMP_BYTES + PointToPoint.BUFFER_BYTES;

    private final MemorySegment sendBuffer = Arena.ofAuto().allocate(BUFFER, 64);
    private final MemorySegment receiveBuffer = Arena.ofAuto().allocate(BUFFER, 64);

    /// Off-heap memory, and heap memory.
    private static List<MemorySegment> memories(int length) {
        return List.of(MemorySegment.ofArray(new byte[length]), Arena.ofAuto().allocate(length, 1));
    }

    private static MemorySegment random(int length) {
        byte[] bytes = new byte[length];
        new SplittableRandom(length).nextBytes(bytes);
        return MemorySegment.ofArray(bytes);
    }

    private static OutgoingMessage outgoing(Link link, long stamp, MemorySegment payload) {
        return new OutgoingMessage(0, link, stamp, payload, 0, payload.byteSize(), null, 0);
    }

    private static IncomingMessage incoming(Link link, MessageSink sink) {
        return new IncomingMessage(0, link, STAMP, sink, null);
    }

    private void transfer(OutgoingMessage outgoing, IncomingMessage incoming) {
        while (!incoming.isDone()) {
            boolean sent = !outgoing.isDone() && outgoing.step(sendBuffer);
            boolean received = incoming.step(receiveBuffer);
            assertThat(sent || received).as("progress").isTrue();
        }
        assertThat(outgoing.isDone()).isTrue();
        assertThat(outgoing.reusableBytes()).isEqualTo(incoming.consumed());
    }

    private void transfer(Link link, MemorySegment payload, MessageSink sink) {
        transfer(outgoing(link, STAMP, payload), incoming(link, sink));
    }

    @ParameterizedTest(name = "{0} bytes, {1} at a time")
    @CsvSource({
        "0, 1",
        "1, 1",
        "7, 3",
        "13, 8",
        "1009, 1",
        "65535, 4099",
        "65537, 65536",
        "131073, 70001",
        "400009, 100003"
    })
    void messagesOfAnyLengthSurvivePartialTransfers(int length, int atATime) {
        for (MemorySegment payload : memories(length)) {
            payload.copyFrom(random(length));
            for (MemorySegment received : memories(length)) {
                transfer(
                        new PartialTransferLink(atATime),
                        payload,
                        MessageSink.into(received, 0, length));
                assertThat(received.mismatch(payload)).isEqualTo(-1);
            }
        }
    }

    @ParameterizedTest(name = "{0} bytes at a time")
    @ValueSource(ints = {1, 3, 8, 11, 100_003})
    void sinkReceivesWholeElements(int atATime) {
        MemorySegment payload = random(400_008);
        MemorySegment received = MemorySegment.ofArray(new byte[400_008]);
        transfer(new PartialTransferLink(atATime), payload, new WholeElements(received, 8));
        assertThat(received.mismatch(payload)).isEqualTo(-1);
    }

    /// A sink without direct memory that takes whole elements only.
    private record WholeElements(MemorySegment target, int granularity) implements MessageSink {
        @Override
        public long length() {
            return target.byteSize();
        }

        @Override
        public void accept(MemorySegment piece, long offset, long position, long count) {
            assertThat(count % granularity).isZero();
            assertThat(position % granularity).isZero();
            MemorySegment.copy(piece, offset, target, position, count);
        }
    }

    @ParameterizedTest(name = "{0} bytes at a time")
    @ValueSource(ints = {1, 5, 65_536})
    void sinkMayOverwriteSentBytes(int atATime) {
        int length = 200_003;
        for (MemorySegment inPlace : memories(length)) {
            inPlace.copyFrom(random(length));
            Link link = new PartialTransferLink(atATime);
            OutgoingMessage outgoing = outgoing(link, STAMP, inPlace);
            MessageSink sink = new Negation(inPlace, outgoing);
            transfer(outgoing, new IncomingMessage(0, link, STAMP, sink, outgoing));
            MemorySegment expected = random(length);
            negate(expected, 0, expected, 0, length);
            assertThat(inPlace.mismatch(expected)).isEqualTo(-1);
        }
    }

    /// Overwrites the outgoing payload with the negated incoming one.
    private record Negation(MemorySegment target, OutgoingMessage outgoing) implements MessageSink {
        @Override
        public long length() {
            return target.byteSize();
        }

        @Override
        public void accept(MemorySegment piece, long offset, long position, long count) {
            assertThat(position + count).isLessThanOrEqualTo(outgoing.reusableBytes());
            negate(piece, offset, target, position, count);
        }
    }

    private static void negate(
            MemorySegment source, long from, MemorySegment target, long to, long count) {
        for (long i = 0; i < count; i++) {
            byte value = source.get(ValueLayout.JAVA_BYTE, from + i);
            target.set(ValueLayout.JAVA_BYTE, to + i, (byte) ~value);
        }
    }

    @ParameterizedTest(name = "{0} bytes, {1} at a time")
    @CsvSource({
        "0, 1",
        "1, 1",
        "16384, 5000",
        "40000, 5000",
        "65537, 70000",
        "400009, 100003",
    })
    void forwardedMessageIsSentAsItArrives(int length, int atATime) {
        for (MemorySegment memory : memories(length)) {
            MemorySegment payload = Arena.ofAuto().allocate(length, 1).copyFrom(random(length));
            Link first = new PartialTransferLink(atATime);
            Link second = new PartialTransferLink(atATime);
            MemorySegment received = Arena.ofAuto().allocate(length, 1);
            OutgoingMessage source = outgoing(first, STAMP, payload);
            IncomingMessage middle = incoming(first, MessageSink.into(memory, 0, length));
            OutgoingMessage forward =
                    new OutgoingMessage(0, second, STAMP, memory, 0, length, middle, 0);
            IncomingMessage target = incoming(second, MessageSink.into(received, 0, length));
            boolean early = false;
            MemorySegment forwardBuffer = Arena.ofAuto().allocate(BUFFER, 64);
            MemorySegment targetBuffer = Arena.ofAuto().allocate(BUFFER, 64);
            while (!target.isDone()) {
                if (!source.isDone()) {
                    source.step(sendBuffer);
                }
                if (!middle.isDone()) {
                    middle.step(receiveBuffer);
                }
                if (!forward.isDone()) {
                    forward.step(forwardBuffer);
                }
                assertThat(forward.reusableBytes()).isLessThanOrEqualTo(middle.consumed());
                target.step(targetBuffer);
                early |= target.consumed() > 0 && !middle.isDone();
            }
            assertThat(received.mismatch(payload)).isEqualTo(-1);
            assertThat(early)
                    .as("sent before all had arrived")
                    .isEqualTo(length > OutgoingMessage.MIN_FORWARD_BYTES);
        }
    }

    /// Its stamp says that all ranks before have sent theirs.
    @ParameterizedTest(name = "{0} bytes")
    @ValueSource(ints = {0, 1, 70_000})
    void emptyMessageWaitsForTheMessageItForwards(int length) {
        MemorySegment payload = Arena.ofAuto().allocate(length, 1);
        Link first = new PartialTransferLink(5);
        Link second = new PartialTransferLink(5);
        OutgoingMessage source = outgoing(first, STAMP, payload);
        IncomingMessage middle = incoming(first, MessageSink.into(payload, 0, length));
        OutgoingMessage forward =
                new OutgoingMessage(0, second, STAMP, payload, length, 0, middle, length);
        MemorySegment forwardBuffer = Arena.ofAuto().allocate(BUFFER, 64);
        while (!middle.isDone()) {
            assertThat(forward.step(forwardBuffer)).as("sent before the other arrived").isFalse();
            if (!source.isDone()) {
                source.step(sendBuffer);
            }
            middle.step(receiveBuffer);
        }
        transfer(forward, incoming(second, MessageSink.into(payload, 0, 0)));
    }

    @ParameterizedTest(name = "{0} bytes")
    @ValueSource(ints = {0, 1, 70_000})
    void stampMismatchIsDetectedBeforeAnyWrite(int length) {
        for (MemorySegment received : memories(length)) {
            PartialTransferLink link = new PartialTransferLink(5);
            OutgoingMessage outgoing = outgoing(link, STAMP + 1, random(length));
            while (!outgoing.isDone()) {
                outgoing.step(sendBuffer);
            }
            IncomingMessage incoming = incoming(link, MessageSink.into(received, 0, length));
            assertThatThrownBy(
                            () -> {
                                while (!incoming.isDone()) {
                                    incoming.step(receiveBuffer);
                                }
                            })
                    .isInstanceOf(StampMismatchException.class)
                    .hasMessageContaining("rank 7");
            assertThat(received.mismatch(MemorySegment.ofArray(new byte[length]))).isEqualTo(-1);
        }
    }
}
