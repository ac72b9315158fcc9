package org.horovod4j.transport.tcp;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import org.horovod4j.security.Protection;
import org.horovod4j.transport.Link;
import org.horovod4j.transport.LinkBrokenException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.Random;
import java.util.concurrent.Future;

/// All bytes arrive, in order.
@ParameterizedClass(name = "{0}")
@EnumSource(Protection.class)
final class TcpLinkTest {
    private final Protection protection;

    TcpLinkTest(Protection protection) {
        this.protection = protection;
    }

    private static final MemorySegment NOTHING = allocate(0);

    @ParameterizedTest(name = "{0} streams, {1} bytes")
    @CsvSource({
        "1, 0",
        "1, 1",
        "1, 10485767",
        "4, 1",
        "4, 65537",
        "4, 10485767",
        "3, 262144",
        "3, 999983"
    })
    void bytesArriveInOrderBothWaysAtOnce(int streams, int byteSize) throws Exception {
        long seed = new Random().nextLong();
        try (TcpWorld world = TcpWorld.joined(protection, 2, streams)) {
            MemorySegment[] out = {random(byteSize, seed), random(byteSize, seed + 1)};
            world.onEach(
                    rank -> {
                        Link link = world.links(rank).link(1 - rank);
                        MemorySegment in = allocate(byteSize);
                        Transfers.exchange(link, out[rank], in);
                        assertThat(in.mismatch(out[1 - rank])).as("seed %d", seed).isEqualTo(-1);
                    });
        }
    }

    @ParameterizedTest(name = "{0} streams")
    @ValueSource(ints = {1, 4})
    void oddSizedPiecesAreReassembled(int streams) throws Exception {
        long seed = new Random().nextLong();
        int byteSize = 10 << 20;
        MemorySegment whole = random(byteSize, seed);
        try (TcpWorld world = TcpWorld.joined(protection, 2, streams)) {
            Future<?> sending =
                    world.async(
                            () -> {
                                Link link = world.links(0).link(1);
                                inPieces(whole, new Random(seed), link, true);
                            });
            MemorySegment copy = allocate(byteSize);
            inPieces(copy, new Random(seed + 1), world.links(1).link(0), false);
            sending.get();
            assertThat(copy.mismatch(whole)).as("seed %d", seed).isEqualTo(-1);
        }
    }

    @ParameterizedTest(name = "{0} streams")
    @ValueSource(ints = {1, 4})
    void bytesSentBeforeCloseStillArrive(int streams) throws Exception {
        MemorySegment whole = random(200_003, 1);
        try (TcpWorld world = TcpWorld.joined(protection, 2, streams)) {
            Link sender = world.links(1).link(0);
            Link receiver = world.links(0).link(1);
            Future<?> sending =
                    world.async(
                            () -> {
                                Transfers.exchange(sender, whole, NOTHING);
                                sender.close();
                            });
            MemorySegment copy = allocate(200_003);
            Transfers.exchange(receiver, NOTHING, copy);
            sending.get();

            assertThat(copy.mismatch(whole)).isEqualTo(-1);
            MemorySegment one = allocate(1);
            assertThatThrownBy(() -> Transfers.exchange(receiver, NOTHING, one))
                    .isInstanceOfSatisfying(
                            LinkBrokenException.class, e -> assertThat(e.peer()).isEqualTo(1))
                    .hasMessageContaining("receiving from rank 1");
        }
    }

    @Test
    void sendingToAClosedEndFails() throws Exception {
        try (TcpWorld world = TcpWorld.joined(protection, 2, 1)) {
            Link sender = world.links(1).link(0);
            world.links(0).link(1).close();
            MemorySegment one = allocate(1);

            await().untilAsserted(
                            () ->
                                    assertThatThrownBy(() -> sender.trySend(one, 0, 1))
                                            .isInstanceOf(LinkBrokenException.class)
                                            .hasMessageContaining("sending to rank 0"));
        }
    }

    @Test
    void fullLinkReturnsZeroInsteadOfBlocking() throws Exception {
        try (TcpWorld world = TcpWorld.joined(protection, 2, 1)) {
            Link sender = world.links(1).link(0);
            MemorySegment block = allocate(1 << 20);
            await().until(() -> sender.trySend(block, 0, block.byteSize()) == 0);

            Link receiver = world.links(0).link(1);
            assertThat(receiver.trySend(block, 0, 1))
                    .as("the other direction is not full")
                    .isEqualTo(1);
        }
    }

    private static MemorySegment random(int byteSize, long seed) {
        byte[] bytes = new byte[byteSize];
        new Random(seed).nextBytes(bytes);
        return allocate(byteSize).copyFrom(MemorySegment.ofArray(bytes));
    }

    private static MemorySegment allocate(int byteSize) {
        return Arena.ofAuto().allocate(byteSize);
    }

    private static void inPieces(MemorySegment whole, Random sizes, Link link, boolean send) {
        long done = 0;
        while (done < whole.byteSize()) {
            long size = Math.min(1 + sizes.nextInt(200_000), whole.byteSize() - done);
            MemorySegment piece = whole.asSlice(done, size);
            Transfers.exchange(link, send ? piece : NOTHING, send ? NOTHING : piece);
            done += size;
        }
    }
}
