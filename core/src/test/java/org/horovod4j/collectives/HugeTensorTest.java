package org.horovod4j.collectives;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.management.BufferPoolMXBean;
import java.lang.management.ManagementFactory;

/// Tensors too large for a Java array. Slow, because they need five gibibytes of memory.
@Tag("slow")
class HugeTensorTest {
    private static final long BYTES = (1L << 31) + 12_345;

    /// Positions around the overflow of an `int`, and the ends.
    private static final long[] MARKED = {0, (1L << 31) - 1, 1L << 31, BYTES - 1};

    /// By default native memory may be as large as the heap. Earlier tests of this JVM have left
    /// memory that the garbage collector has not freed yet.
    private static void needs(long bytes) {
        long allowed = Runtime.getRuntime().maxMemory();
        assumeTrue(
                allowed > bytes,
                "this JVM is limited to " + allowed + " bytes, the test needs " + bytes);
        await("native memory of earlier tests is freed")
                .until(
                        () -> {
                            System.gc();
                            return nativeBytes() < allowed - bytes;
                        });
    }

    private static long nativeBytes() {
        return ManagementFactory.getPlatformMXBeans(BufferPoolMXBean.class).stream()
                .filter(pool -> pool.getName().equals("direct"))
                .mapToLong(BufferPoolMXBean::getMemoryUsed)
                .sum();
    }

    @Test
    void allreduceAndBroadcastMoreThanTwoGibibytes() {
        needs(2 * BYTES);
        World.run(
                2,
                comm -> {
                    try (Arena arena = Arena.ofShared()) {
                        MemorySegment memory = arena.allocate(BYTES, 64);
                        memory.fill((byte) (1 + comm.rank()));
                        mark(memory, comm.rank());
                        Tensor tensor = Tensor.of(memory, DataType.UINT8);
                        comm.allreduce("huge", tensor, ReduceOp.SUM);
                        isFilledBetweenMarks(memory, 3, 10 + 11);
                        memory.fill((byte) comm.rank());
                        mark(memory, comm.rank());
                        comm.broadcast("huge", tensor, 1);
                        isFilledBetweenMarks(memory, 1, 11);
                    }
                });
    }

    @Test
    void allgatherMoreThanTwoGibibytes() {
        long half = BYTES / 2;
        needs(half + 2 * BYTES);
        try (Arena arena = Arena.ofShared()) {
            // Both ranks pass the same memory: it is only read.
            MemorySegment memory = arena.allocate(half, 64);
            memory.fill((byte) 7);
            memory.set(ValueLayout.JAVA_BYTE, half - 1, (byte) 8);
            Tensor tensor = Tensor.of(memory, DataType.UINT8);
            World.run(
                    2,
                    comm -> {
                        MemorySegment joined = comm.allgather("huge", tensor).segment();
                        assertThat(joined.byteSize()).isEqualTo(2 * half);
                        assertThat(joined.asSlice(0, half).mismatch(memory)).isEqualTo(-1);
                        assertThat(joined.asSlice(half).mismatch(memory)).isEqualTo(-1);
                    });
        }
    }

    private static void mark(MemorySegment memory, int rank) {
        for (long position : MARKED) {
            memory.set(ValueLayout.JAVA_BYTE, position, (byte) (10 + rank));
        }
    }

    private static void isFilledBetweenMarks(MemorySegment memory, int filled, int marked) {
        long start = 0;
        for (long position : MARKED) {
            assertThat(memory.get(ValueLayout.JAVA_BYTE, position)).isEqualTo((byte) marked);
            isFilled(memory.asSlice(start, position - start), filled);
            start = position + 1;
        }
    }

    private static void isFilled(MemorySegment memory, int value) {
        if (memory.byteSize() > 0) {
            assertThat(memory.get(ValueLayout.JAVA_BYTE, 0)).isEqualTo((byte) value);
            // Each byte equals the next one.
            long last = memory.byteSize() - 1;
            assertThat(memory.asSlice(0, last).mismatch(memory.asSlice(1))).isEqualTo(-1);
        }
    }
}
