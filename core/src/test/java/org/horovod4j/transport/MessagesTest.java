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

    private final OutgoingMessage outgoingMessage =
            new OutgoingMessage(Arena.ofAuto().allocate(BUFFER, 64));
    private final IncomingMessage incomingMessage =
            new IncomingMessage(Arena.ofAuto().allocate(BUFFER, 64));

    /// Off-heap memory, and heap memory.
    private static List<MemorySegment> memories(int length) {
        return List.of(MemorySegment.ofArray(new byte[length]), Arena.ofAuto().allocate(length, 1));
    }

    private static MemorySegment random(int length) {
        byte[] bytes = new byte[length];
        new SplittableRandom(length).nextBytes(bytes);
        return MemorySegment.ofArray(bytes);
    }

    private void transfer(Link link, MemorySegment payload, MessageSink sink) {
        outgoingMessage.begin(link, STAMP, payload, 0, payload.byteSize());
        incomingMessage.begin(link, STAMP, sink);
        while (!incomingMessage.isDone()) {
            boolean sent = !outgoingMessage.isDone() && outgoingMessage.step();
            boolean received = incomingMessage.step();
            assertThat(sent || received).as("progress").isTrue();
        }
        assertThat(outgoingMessage.isDone()).isTrue();
        assertThat(outgoingMessage.reusableBytes()).isEqualTo(payload.byteSize());
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
            transfer(
                    new PartialTransferLink(atATime),
                    inPlace,
                    new Negation(inPlace, outgoingMessage));
            MemorySegment expected = random(length);
            negate(expected, 0, expected, 0, length);
            assertThat(inPlace.mismatch(expected)).isEqualTo(-1);
        }
    }

    /// Overwrites the outgoing payload with the negated incoming one, up to [#limit].
    private record Negation(MemorySegment target, OutgoingMessage outgoingMessage)
            implements MessageSink {
        @Override
        public long length() {
            return target.byteSize();
        }

        @Override
        public long limit() {
            return outgoingMessage.reusableBytes();
        }

        @Override
        public void accept(MemorySegment piece, long offset, long position, long count) {
            assertThat(position + count).isLessThanOrEqualTo(outgoingMessage.reusableBytes());
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

    @ParameterizedTest(name = "{0} bytes")
    @ValueSource(ints = {0, 1, 70_000})
    void stampMismatchIsDetectedBeforeAnyWrite(int length) {
        for (MemorySegment received : memories(length)) {
            PartialTransferLink link = new PartialTransferLink(5);
            outgoingMessage.begin(link, STAMP + 1, random(length), 0, length);
            while (!outgoingMessage.isDone()) {
                outgoingMessage.step();
            }
            incomingMessage.begin(link, STAMP, MessageSink.into(received, 0, length));
            assertThatThrownBy(
                            () -> {
                                while (!incomingMessage.isDone()) {
                                    incomingMessage.step();
                                }
                            })
                    .isInstanceOf(StampMismatchException.class)
                    .hasMessageContaining("rank 7");
            assertThat(received.mismatch(MemorySegment.ofArray(new byte[length]))).isEqualTo(-1);
        }
    }
}
