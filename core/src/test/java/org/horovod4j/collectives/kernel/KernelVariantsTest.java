package org.horovod4j.collectives.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.testing.SampleTensors;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Random;
import java.util.stream.Stream;

/// The scalar and the vector variant give the same, correct bits.
class KernelVariantsTest {
    private static final long SEED = 20_250_917;
    private static final int[] LENGTHS = {
        0, 1, 2, 3, 7, 15, 16, 17, 63, 64, 65, 127, 1000, 4099, 40_000
    };
    private static final byte UNTOUCHED = 0x5a;

    /// Odd, so that no element is aligned.
    private static final long TARGET_OFFSET = 1;

    private static final long LEFT_OFFSET = 3;
    private static final long RIGHT_OFFSET = 5;

    /// The memory of the result.
    private enum Target {
        SEPARATE,
        LEFT,
        RIGHT
    }

    static Stream<Arguments> typesAndOps() {
        return Stream.of(DataType.values())
                .flatMap(
                        dataType ->
                                SampleTensors.ELEMENTWISE.stream()
                                        .map(op -> Arguments.of(dataType, op)));
    }

    @ParameterizedTest(name = "{0} {1}, seed " + SEED)
    @MethodSource("typesAndOps")
    void variantsMatchTheReference(DataType dataType, ReduceOp op) {
        Random random = new Random(SEED);
        for (int length : LENGTHS) {
            long[] left = RawElements.random(dataType, length, random);
            long[] right = RawElements.random(dataType, length, random);
            long[] expected =
                    RawElements.withCanonicalNaN(
                            dataType, Reference.reduce(dataType, op, new long[][] {left, right}));
            for (Target target : Target.values()) {
                for (Kernels kernels :
                        new Kernels[] {Kernels.scalar(), Kernels.vector(), Kernels.best()}) {
                    long[] found = combine(kernels, dataType, op, target, left, right);
                    assertThat(RawElements.withCanonicalNaN(dataType, found))
                            .as("%d elements into %s, %s", length, target, kernels.description())
                            .isEqualTo(expected);
                }
            }
        }
    }

    private static long[] combine(
            Kernels kernels,
            DataType dataType,
            ReduceOp op,
            Target target,
            long[] left,
            long[] right) {
        int count = left.length;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment leftSegment = segment(arena, dataType, count, LEFT_OFFSET);
            MemorySegment rightSegment = segment(arena, dataType, count, RIGHT_OFFSET);
            RawElements.setAll(dataType, leftSegment, LEFT_OFFSET, left);
            RawElements.setAll(dataType, rightSegment, RIGHT_OFFSET, right);
            MemorySegment result =
                    switch (target) {
                        case SEPARATE -> segment(arena, dataType, count, TARGET_OFFSET);
                        case LEFT -> leftSegment;
                        case RIGHT -> rightSegment;
                    };
            long offset =
                    switch (target) {
                        case SEPARATE -> TARGET_OFFSET;
                        case LEFT -> LEFT_OFFSET;
                        case RIGHT -> RIGHT_OFFSET;
                    };
            kernels.kernel(dataType, op)
                    .combine(
                            result,
                            offset,
                            leftSegment,
                            LEFT_OFFSET,
                            rightSegment,
                            RIGHT_OFFSET,
                            count);
            assertThat(result.get(ValueLayout.JAVA_BYTE, offset - 1)).isEqualTo(UNTOUCHED);
            assertThat(result.get(ValueLayout.JAVA_BYTE, result.byteSize() - 1))
                    .isEqualTo(UNTOUCHED);
            return RawElements.getAll(dataType, result, offset, count);
        }
    }

    /// Memory for the elements, plus one byte.
    private static MemorySegment segment(Arena arena, DataType dataType, int count, long offset) {
        return arena.allocate(offset + (long) count * dataType.byteSize() + 1).fill(UNTOUCHED);
    }
}
