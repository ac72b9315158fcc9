package org.horovod4j.natives;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.Arrays;
import java.util.Random;

class StreamingStoresTest {
    private static final int LINE = 64;

    @Test
    @EnabledOnOs(value = OS.LINUX, architectures = "amd64")
    void areAvailableOnLinuxOnX86() {
        assertThat(StreamingStores.isAvailable()).isTrue();
    }

    /// Every position in a cache line, and sizes from nothing to several lines more than the least that is
    /// streamed.
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void copiesAllBytesAndNoOthers(boolean fromArray) {
        byte[] values = new byte[4096];
        new Random(5).nextBytes(values);
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment array = MemorySegment.ofArray(values);
            MemorySegment source =
                    fromArray ? array : arena.allocate(values.length).copyFrom(array);
            MemorySegment target = arena.allocate(2 * LINE + 2048 + LINE, LINE);
            for (int bytes : new int[] {0, 1, 63, 64, 511, 512, 513, 575, 576, 700, 2048}) {
                for (int offset = LINE; offset < 2 * LINE; offset++) {
                    target.fill((byte) 7);
                    StreamingStores.copy(source, offset * 3L, target, offset, bytes);
                    assertThat(
                                    target.asSlice(offset, bytes)
                                            .mismatch(array.asSlice(offset * 3L, bytes)))
                            .as("%d bytes to offset %d", bytes, offset)
                            .isEqualTo(-1);
                    assertThat(target.asSlice(0, offset).toArray(ValueLayout.JAVA_BYTE))
                            .containsOnly(7);
                    assertThat(target.asSlice(offset + bytes).toArray(ValueLayout.JAVA_BYTE))
                            .containsOnly(7);
                }
            }
        }
    }

    /// A thread that sees the number of a copy sees all of its bytes, and none of an earlier copy.
    @Test
    @Timeout(60)
    void copyIsSeenBeforeLaterStores() throws InterruptedException {
        int rounds = 20_000;
        int longs = 1024;
        VarHandle number = ValueLayout.JAVA_LONG.varHandle();
        try (Arena arena = Arena.ofShared()) {
            MemorySegment stage = arena.allocate((long) longs * Long.BYTES, LINE);
            MemorySegment copied = arena.allocate(Long.BYTES, LINE);
            MemorySegment read = arena.allocate(Long.BYTES, LINE);
            Thread writer =
                    Thread.ofPlatform()
                            .start(
                                    () -> {
                                        long[] values = new long[longs];
                                        for (long round = 1; round <= rounds; round++) {
                                            Arrays.fill(values, round);
                                            StreamingStores.copy(
                                                    MemorySegment.ofArray(values),
                                                    0,
                                                    stage,
                                                    0,
                                                    stage.byteSize());
                                            number.setRelease(copied, 0L, round);
                                            while ((long) number.getAcquire(read, 0L) < round) {
                                                Thread.yield();
                                            }
                                        }
                                    });
            long wrong = 0;
            for (long round = 1; round <= rounds; round++) {
                while ((long) number.getAcquire(copied, 0L) < round) {
                    Thread.yield();
                }
                for (int i = 0; i < longs; i++) {
                    wrong += stage.getAtIndex(ValueLayout.JAVA_LONG, i) == round ? 0 : 1;
                }
                number.setRelease(read, 0L, round);
            }
            writer.join();
            assertThat(wrong).isZero();
        }
    }
}
