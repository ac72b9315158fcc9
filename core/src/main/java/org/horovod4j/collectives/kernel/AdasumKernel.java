package org.horovod4j.collectives.kernel;

import org.horovod4j.DataType;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/// The arithmetic of Adasum on vectors of any float type: scalar products, and sums with weights.
///
/// Everything is calculated in double precision, block by block in arrays that stay in the cache.
/// The products of a vector are the sum of its blocks' products, in order, and within a block the
/// order of [DotLoop]: the same bits on every machine and from both twins. All memory lies outside
/// the heap, at any alignment.
///
/// One thread at a time uses an instance; it keeps 90 KB of scratch.
public final class AdasumKernel {
    /// Elements of a block. Whoever splits a vector does it between blocks, or its products would
    /// depend on where it was split.
    public static final int BLOCK = KernelScratch.HALF_BLOCK;

    /// Squares between these bounds have lost nothing that matters to overflow or underflow.
    private static final double LEAST_SAFE = 0x1p-500;

    private static final double GREATEST_SAFE = 0x1p500;

    private final DotLoop dotLoop;
    private final DoubleConverter converter = new DoubleConverter(new KernelScratch());
    private final double[] lefts = new double[BLOCK];
    private final double[] rights = new double[BLOCK];
    private final double[] sums = new double[3 * DotLoop.LANES];

    /// @param kernels whether to use vectors
    public AdasumKernel(Kernels kernels) {
        this.dotLoop = kernels.usesVectors() ? DotLoops.Vector::run : DotLoops.Scalar::run;
    }

    /// The products of two vectors of `count` elements.
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
            AdasumWeights adasumWeights,
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
            if (adasumWeights.isUnscaled()) {
                combine(lefts, adasumWeights.left(), rights, adasumWeights.right(), elements);
            } else {
                combineScaled(lefts, rights, adasumWeights, elements);
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

    /// The products of the block that was loaded.
    private DotProducts products(DataType dataType, int count) {
        int padded = Math.ceilDiv(count, DotLoop.LANES) * DotLoop.LANES;
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
        for (int lane = 0; lane < DotLoop.LANES; lane++) {
            sum += sums[product * DotLoop.LANES + lane];
        }
        return sum;
    }

    private static boolean isSafe(double square) {
        return square >= LEAST_SAFE && square <= GREATEST_SAFE;
    }

    /// NaN if there is one.
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
            double[] lefts, double[] rights, AdasumWeights adasumWeights, int count) {
        for (int i = 0; i < count; i++) {
            double left = adasumWeights.left() * (adasumWeights.leftFactor() * lefts[i]);
            double right = adasumWeights.right() * (adasumWeights.rightFactor() * rights[i]);
            lefts[i] = adasumWeights.unit() * (left + right);
        }
    }
}
