package org.horovod4j.collectives.kernel;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import org.horovod4j.DataType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.math.BigDecimal;
import java.util.Arrays;
import java.util.Random;

class AdasumKernelTest {
    private static final long SEED = 48;
    private static final int[] LENGTHS = {0, 1, 2, 7, 8, 9, 63, 64, 65, 2047, 2048, 2049, 10_007};

    /// Odd, so that no element is aligned.
    private static final long OFFSET = 3;

    private final AdasumKernel scalar = new AdasumKernel(Kernels.scalar());
    private final AdasumKernel vector = new AdasumKernel(Kernels.vector());

    @ParameterizedTest(name = "{0}, seed " + SEED)
    @EnumSource(names = {"FLOAT16", "BFLOAT16", "FLOAT32", "FLOAT64"})
    void variantsAgreeBitForBit(DataType dataType) {
        Random random = new Random(SEED);
        for (int length : LENGTHS) {
            long[] left = RawElements.random(dataType, length, random);
            long[] right = RawElements.random(dataType, length, random);
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment a = segment(arena, dataType, left);
                MemorySegment b = segment(arena, dataType, right);
                DotProducts found = scalar.products(dataType, a, OFFSET, b, OFFSET, length);
                assertThat(vector.products(dataType, a, OFFSET, b, OFFSET, length))
                        .as("%d elements", length)
                        .isEqualTo(found);
                DotProducts.Weights weights = new DotProducts.Weights(0.3, 0.7, 1, 1, 1);
                MemorySegment first = segment(arena, dataType, left);
                MemorySegment second = segment(arena, dataType, right);
                scalar.combine(dataType, weights, first, OFFSET, a, OFFSET, b, OFFSET, length);
                vector.combine(
                        dataType, weights, second, OFFSET, a, OFFSET, second, OFFSET, length);
                assertThat(withOneNaN(dataType, second, length))
                        .isEqualTo(withOneNaN(dataType, first, length));
            }
        }
    }

    private static MemorySegment segment(Arena arena, DataType dataType, long[] elements) {
        MemorySegment segment =
                arena.allocate(OFFSET + (long) elements.length * dataType.byteSize());
        RawElements.setAll(dataType, segment, OFFSET, elements);
        return segment;
    }

    private static long[] withOneNaN(DataType dataType, MemorySegment segment, int count) {
        return RawElements.withCanonicalNaN(
                dataType, RawElements.getAll(dataType, segment, OFFSET, count));
    }

    @Test
    void productsMatchExactArithmetic() {
        Random random = new Random(SEED);
        double[] a = random.doubles(4_099, -1, 1).toArray();
        double[] b = random.doubles(4_099, -1, 1).toArray();
        DotProducts dotProducts = products(a, b);
        assertThat(dotProducts.dot()).isCloseTo(exact(a, b), within(1e-12));
        assertThat(dotProducts.left()).isCloseTo(exact(a, a), within(1e-12));
        assertThat(dotProducts.right()).isCloseTo(exact(b, b), within(1e-12));
        assertThat(dotProducts.leftRange()).isZero();
        assertThat(dotProducts.rightRange()).isZero();
    }

    private static double exact(double[] a, double[] b) {
        BigDecimal sum = BigDecimal.ZERO;
        for (int i = 0; i < a.length; i++) {
            sum = sum.add(new BigDecimal(a[i]).multiply(new BigDecimal(b[i])));
        }
        return sum.doubleValue();
    }

    /// For every pair of magnitudes of a double, where one vector is a multiple of the other, the
    /// combination is their average.
    @Test
    void parallelVectorsAreAveragedAtAllMagnitudes() {
        for (int left = -1074; left < 1023; left += 9) {
            for (int right = -1074; right < 1023; right += 9) {
                double a = Math.scalb(1.0, left);
                double b = Math.scalb(1.0, right);
                assertThat(combined(new double[] {a}, new double[] {b})[0])
                        .as("2^%d and 2^%d", left, right)
                        .isCloseTo((a + b) / 2, within(Math.max(a, b) * 0x1p-50));
            }
        }
    }

    @ParameterizedTest(name = "{0}")
    @ValueSource(doubles = {Double.MIN_VALUE, 1e-310, 1e-200, 1, 1e200, 0x1.fp1022})
    void orthogonalVectorsAreAddedAtAllMagnitudes(double magnitude) {
        double[] a = new double[5_000];
        double[] b = new double[5_000];
        double[] sum = new double[5_000];
        a[0] = magnitude;
        b[4_999] = -magnitude;
        sum[0] = magnitude;
        sum[4_999] = -magnitude;
        assertThat(combined(a, b)).containsExactly(sum);
    }

    @ParameterizedTest(name = "{0}")
    @ValueSource(doubles = {Double.MIN_VALUE, 1e-200, 1, 1e200, Double.MAX_VALUE})
    void oppositeVectorsCancel(double magnitude) {
        double[] a = new double[2_500];
        double[] b = new double[2_500];
        Arrays.fill(a, magnitude);
        Arrays.fill(b, -magnitude);
        assertThat(combined(a, b)).containsOnly(0);
    }

    /// Blocks of one vector may lie in different ranges.
    @Test
    void largeElementsAnywhereOutweighSmallOnes() {
        double[] a = new double[3 * AdasumKernel.BLOCK];
        Arrays.fill(a, 1e-100);
        a[AdasumKernel.BLOCK] = 1e150;
        a[2 * AdasumKernel.BLOCK] = 1;
        assertThat(combined(a, a)).containsExactly(a);
    }

    @Test
    void writtenProductsAreReadBackUnchanged() {
        DotProducts dotProducts = new DotProducts(-1.5, 2, 3, -2, 2);
        MemorySegment memory = MemorySegment.ofArray(new byte[DotProducts.BYTES + 1]);
        dotProducts.write(memory, 1);
        assertThat(DotProducts.read(memory, 1)).isEqualTo(dotProducts);
    }

    private DotProducts products(double[] a, double[] b) {
        try (Arena arena = Arena.ofConfined()) {
            return vector.products(
                    DataType.FLOAT64,
                    arena.allocateFrom(ValueLayout.JAVA_DOUBLE, a),
                    0,
                    arena.allocateFrom(ValueLayout.JAVA_DOUBLE, b),
                    0,
                    a.length);
        }
    }

    private double[] combined(double[] a, double[] b) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment left = arena.allocateFrom(ValueLayout.JAVA_DOUBLE, a);
            MemorySegment right = arena.allocateFrom(ValueLayout.JAVA_DOUBLE, b);
            vector.combine(
                    DataType.FLOAT64,
                    products(a, b).weights(),
                    left,
                    0,
                    left,
                    0,
                    right,
                    0,
                    a.length);
            return left.toArray(ValueLayout.JAVA_DOUBLE);
        }
    }
}
