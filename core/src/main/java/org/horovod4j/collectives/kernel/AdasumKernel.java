package org.horovod4j.collectives.kernel;

import org.horovod4j.DataType;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/// The arithmetic of Adasum on vectors of any float type: dot products and weighted sums.
///
/// All calculations use double precision, in blocks that stay in the cache. The dot product of a
/// vector is the sum of the dot products of its blocks, in order; within a block the order is that
/// of [DotLoops]. So the bits are the same on every machine and for both variants. All memory is
/// off-heap, with any alignment.
///
/// One thread at a time uses an instance. It keeps 90 KB of scratch memory.
public final class AdasumKernel {
    /// The number of elements in a block. A vector must be split between blocks; otherwise its dot
    /// products would depend on the split.
    public static final int BLOCK = KernelScratch.HALF_BLOCK;

    /// Squares within these bounds were not affected by overflow or underflow.
    private static final double LEAST_SAFE = 0x1p-500;

    private static final double GREATEST_SAFE = 0x1p500;

    private final DotLoops.Loop dotLoop;
    private final DoubleConverter converter = new DoubleConverter(new KernelScratch());
    private final double[] lefts = new double[BLOCK];
    private final double[] rights = new double[BLOCK];
    private final double[] sums = new double[3 * DotLoops.LANES];

    /// @param kernels decides whether vectors are used
    public AdasumKernel(Kernels kernels) {
        this.dotLoop = kernels.usesVectors() ? DotLoops.Vector::run : DotLoops.Scalar::run;
    }

    /// The dot products of two vectors of `count` elements.
    public DotProducts products(
            DataType dataType,
            MemorySegment left,
            long leftOffset,
            MemorySegment right,
            long rightOffset,
            long count) {
        DotProducts sum = DotProducts.EMPTY;
        for (long start = 0; start < count; start += BLOCK) {
            int elements = (int) Math.min(BLOCK, count - start);
            load(dataType, left, leftOffset, start, elements, lefts);
            load(dataType, right, rightOffset, start, elements, rights);
            sum = sum.plus(products(dataType, elements));
        }
        return sum;
    }

    /// `target = left + right`, each with its weight, for `count` elements; `target` may be one of
    /// the two.
    public void combine(
            DataType dataType,
            DotProducts.Weights weights,
            MemorySegment target,
            long targetOffset,
            MemorySegment left,
            long leftOffset,
            MemorySegment right,
            long rightOffset,
            long count) {
        int byteSize = dataType.byteSize();
        for (long start = 0; start < count; start += BLOCK) {
            int elements = (int) Math.min(BLOCK, count - start);
            load(dataType, left, leftOffset, start, elements, lefts);
            load(dataType, right, rightOffset, start, elements, rights);
            if (weights.isUnscaled()) {
                combine(lefts, weights.left(), rights, weights.right(), elements);
            } else {
                combineScaled(lefts, rights, weights, elements);
            }
            converter.narrow(
                    dataType,
                    lefts,
                    target.asSlice(targetOffset + start * byteSize, (long) elements * byteSize));
        }
    }

    private void load(
            DataType dataType,
            MemorySegment memory,
            long offset,
            long start,
            int count,
            double[] values) {
        int byteSize = dataType.byteSize();
        converter.widen(
                dataType,
                memory.asSlice(offset + start * byteSize, (long) count * byteSize),
                values);
    }

    /// The dot products of the loaded block.
    private DotProducts products(DataType dataType, int count) {
        int padded = Math.ceilDiv(count, DotLoops.LANES) * DotLoops.LANES;
        Arrays.fill(lefts, count, padded, 0);
        Arrays.fill(rights, count, padded, 0);
        DotProducts plain = products(padded, 0, 0);
        if (dataType != DataType.FLOAT64 || (isSafe(plain.left()) && isSafe(plain.right()))) {
            return plain;
        }
        int leftRange = DotProducts.range(largest(lefts, count));
        int rightRange = DotProducts.range(largest(rights, count));
        multiply(lefts, DotProducts.factor(leftRange), count);
        multiply(rights, DotProducts.factor(rightRange), count);
        return products(padded, leftRange, rightRange);
    }

    private DotProducts products(int padded, int leftRange, int rightRange) {
        dotLoop.run(lefts, rights, padded, sums);
        return new DotProducts(sum(0), sum(1), sum(2), leftRange, rightRange);
    }

    private double sum(int product) {
        double sum = 0;
        for (int lane = 0; lane < DotLoops.LANES; lane++) {
            sum += sums[product * DotLoops.LANES + lane];
        }
        return sum;
    }

    private static boolean isSafe(double square) {
        return square >= LEAST_SAFE && square <= GREATEST_SAFE;
    }

    /// The largest magnitude; NaN if there is one.
    private static double largest(double[] values, int count) {
        double largest = 0;
        for (int i = 0; i < count; i++) {
            largest = Math.max(largest, Math.abs(values[i]));
        }
        return largest;
    }

    private static void multiply(double[] values, double factor, int count) {
        for (int i = 0; i < count; i++) {
            values[i] *= factor;
        }
    }

    private static void combine(
            double[] lefts, double left, double[] rights, double right, int count) {
        for (int i = 0; i < count; i++) {
            lefts[i] = left * lefts[i] + right * rights[i];
        }
    }

    private static void combineScaled(
            double[] lefts, double[] rights, DotProducts.Weights weights, int count) {
        for (int i = 0; i < count; i++) {
            double left = weights.left() * (weights.leftFactor() * lefts[i]);
            double right = weights.right() * (weights.rightFactor() * rights[i]);
            lefts[i] = weights.unit() * (left + right);
        }
    }
}
