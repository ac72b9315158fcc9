package org.horovod4j.collectives.kernel;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.testing.SampleTensors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/// Special floating-point values, and values where rounding, wrapping or truth could be wrong.
class SpecialValuesTest {
    private static final Kernels[] TWINS = {Kernels.scalar(), Kernels.vector()};

    /// More than any vector of any type holds, so that both the vector loop and its remainder are
    /// tested.
    private static final int COPIES = 131;

    @ParameterizedTest
    @EnumSource(names = {"FLOAT16", "BFLOAT16", "FLOAT32", "FLOAT64"})
    void everyPairOfSpecialValuesFollowsIeee754(DataType dataType) {
        for (ReduceOp op : SampleTensors.ELEMENTWISE) {
            for (long left : corners(dataType)) {
                for (long right : corners(dataType)) {
                    assertCombined(
                            dataType, op, left, right, Reference.fold(dataType, op, left, right));
                }
            }
        }
    }

    /// Infinities, NaN, both zeros, the smallest and largest subnormal and normal numbers, 1 and
    /// others.
    private static List<Long> corners(DataType dataType) {
        int exponentBits =
                switch (dataType) {
                    case FLOAT16 -> 5;
                    case BFLOAT16, FLOAT32 -> 8;
                    case FLOAT64 -> 11;
                    case UINT8, INT8, UINT16, INT16, INT32, INT64, BOOL ->
                            throw new AssertionError(dataType);
                };
        int fractionBits = Byte.SIZE * dataType.byteSize() - 1 - exponentBits;
        long infinity = ((1L << exponentBits) - 1) << fractionBits;
        long leastNormal = 1L << fractionBits;
        long[] positive = {
            0,
            1,
            leastNormal - 1,
            leastNormal,
            RawElements.of(dataType, 1),
            RawElements.of(dataType, 1.5),
            infinity - 1,
            infinity,
            infinity + leastNormal / 2
        };
        long sign = dataType == DataType.FLOAT64 ? Long.MIN_VALUE : -(infinity + leastNormal);
        List<Long> corners = new ArrayList<>();
        for (long corner : positive) {
            corners.add(corner);
            corners.add(sign | corner);
        }
        return corners;
    }

    @Test
    void bfloat16RoundsTiesToEven() {
        DataType bfloat16 = DataType.BFLOAT16;
        // With 8 bits of precision the numbers from 256 to 512 are 2 apart.
        assertSum(bfloat16, 256, 1, 256);
        assertSum(bfloat16, 258, 1, 260);
        assertSum(bfloat16, 256, 1.0078125, 258);
        assertSum(bfloat16, -258, -1, -260);
    }

    @Test
    void float16RoundsTiesToEven() {
        DataType float16 = DataType.FLOAT16;
        // With 11 bits of precision the numbers from 2048 to 4096 are 2 apart.
        assertSum(float16, 2048, 1, 2048);
        assertSum(float16, 2050, 1, 2052);
        assertSum(float16, 65504, 15, 65504);
        assertSum(float16, 65504, 16, Double.POSITIVE_INFINITY);
    }

    @Test
    void integersWrapAround() {
        assertCombined(DataType.INT8, ReduceOp.SUM, 127, 1, -128);
        assertCombined(DataType.UINT8, ReduceOp.SUM, (byte) 255, 2, 1);
        assertCombined(DataType.INT16, ReduceOp.PRODUCT, 300, 300, (short) 90_000);
        assertCombined(DataType.INT32, ReduceOp.SUM, Integer.MAX_VALUE, 1, Integer.MIN_VALUE);
        assertCombined(DataType.INT64, ReduceOp.PRODUCT, Long.MAX_VALUE, 2, -2);
    }

    @Test
    void unsignedTypesCompareUnsigned() {
        assertCombined(DataType.UINT8, ReduceOp.MAX, (byte) 200, 100, (byte) 200);
        assertCombined(DataType.INT8, ReduceOp.MAX, (byte) 200, 100, 100);
        assertCombined(DataType.UINT16, ReduceOp.MIN, (short) 40_000, 3, 3);
        assertCombined(DataType.INT16, ReduceOp.MIN, (short) 40_000, 3, (short) 40_000);
    }

    @Test
    void nonZeroIsTrue() {
        assertCombined(DataType.BOOL, ReduceOp.SUM, 0, (byte) 0x80, 1);
        assertCombined(DataType.BOOL, ReduceOp.SUM, 0, 0, 0);
        assertCombined(DataType.BOOL, ReduceOp.PRODUCT, 1, 2, 1);
        assertCombined(DataType.BOOL, ReduceOp.MIN, (byte) 0xff, 0x10, 1);
        assertCombined(DataType.BOOL, ReduceOp.MIN, 7, 0, 0);
        assertCombined(DataType.BOOL, ReduceOp.MAX, 5, 3, 1);
    }

    private static void assertSum(DataType dataType, double left, double right, double sum) {
        assertCombined(
                dataType,
                ReduceOp.SUM,
                RawElements.of(dataType, left),
                RawElements.of(dataType, right),
                RawElements.of(dataType, sum));
    }

    private static void assertCombined(
            DataType dataType, ReduceOp op, long left, long right, long expected) {
        for (Kernels kernels : TWINS) {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment target = full(arena, dataType, left);
                MemorySegment other = full(arena, dataType, right);
                kernels.kernel(dataType, op).combine(target, 0, target, 0, other, 0, COPIES);
                long[] found = RawElements.getAll(dataType, target, 0, COPIES);
                assertThat(RawElements.withCanonicalNaN(dataType, found))
                        .as("%s of %x and %x, %s", op, left, right, kernels.description())
                        .containsOnly(
                                RawElements.withCanonicalNaN(dataType, new long[] {expected}));
            }
        }
    }

    private static MemorySegment full(Arena arena, DataType dataType, long element) {
        MemorySegment segment = arena.allocate((long) COPIES * dataType.byteSize());
        for (int i = 0; i < COPIES; i++) {
            RawElements.set(dataType, segment, (long) i * dataType.byteSize(), element);
        }
        return segment;
    }
}
