package org.horovod4j.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.concurrent.CompletableFuture;

class ByteRingTest {
    private final MemorySegment memory = Arena.ofAuto().allocate(ByteRing.BYTES, Long.BYTES);
    private final ByteRing ring = new ByteRing(memory);

    /// The other end maps the same memory.
    private final ByteRing otherEnd = new ByteRing(memory);

    private static MemorySegment bytes(long count) {
        MemorySegment bytes = Arena.ofAuto().allocate(count);
        for (long i = 0; i < count; i++) {
            bytes.set(ValueLayout.JAVA_BYTE, i, (byte) (i * 31 + i / 256));
        }
        return bytes;
    }

    @Test
    void fullRingAcceptsNothingUntilItIsRead() {
        MemorySegment sent = bytes(ByteRing.CAPACITY + 10);
        assertThat(ring.write(sent, 0, sent.byteSize())).isEqualTo(ByteRing.CAPACITY);
        assertThat(ring.write(sent, ByteRing.CAPACITY, 10)).isZero();
        MemorySegment received = Arena.ofAuto().allocate(7);
        assertThat(otherEnd.read(received, 0, 7)).isEqualTo(7);
        assertThat(ring.write(sent, ByteRing.CAPACITY, 10)).isEqualTo(7);
    }

    @Test
    void emptyRingGivesNothing() {
        assertThat(otherEnd.read(bytes(5), 0, 5)).isZero();
    }

    @Test
    void bytesArriveInOrderAcrossTheEnd() {
        long count = 10 * ByteRing.CAPACITY + 123;
        MemorySegment sent = bytes(count);
        CompletableFuture<Void> writer =
                CompletableFuture.runAsync(
                        () -> {
                            for (long done = 0; done < count; ) {
                                done += ring.write(sent, done, Math.min(1_009, count - done));
                            }
                        });
        MemorySegment received = Arena.ofAuto().allocate(count);
        for (long done = 0; done < count; ) {
            done += otherEnd.read(received, done, Math.min(777, count - done));
        }
        writer.join();
        assertThat(received.mismatch(sent)).isEqualTo(-1);
    }

    @Test
    void closedLinkDeliversWhatWasSentBefore() {
        ByteRing back = new ByteRing(Arena.ofAuto().allocate(ByteRing.BYTES, Long.BYTES));
        RingLink left = new RingLink(1, ring, back, () -> {});
        RingLink right = new RingLink(0, back, otherEnd, () -> {});
        assertThat(left.trySend(bytes(3), 0, 3)).isEqualTo(3);
        left.close();
        assertThat(right.tryReceive(bytes(8), 0, 8)).isEqualTo(3);
        assertThatThrownBy(() -> right.tryReceive(bytes(8), 0, 8))
                .isInstanceOf(LinkBrokenException.class)
                .hasMessage("rank 0 has closed its link");
        assertThatThrownBy(() -> right.trySend(bytes(8), 0, 8))
                .isInstanceOf(LinkBrokenException.class);
    }
}
