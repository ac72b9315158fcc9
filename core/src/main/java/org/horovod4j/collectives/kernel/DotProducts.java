package org.horovod4j.collectives.kernel;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/// The scalar products of two vectors that Adasum needs, in double precision and free of overflow.
///
/// The square of a `float64` need not be one: `1e200` squared is too large and `1e-200` too small.
/// So a vector has a *range* that tells by which power of two it was divided before it was
/// multiplied, and its largest element then lies between `2^-255` and `2^255`. Range 0 stands for
/// no division: all that other types can hold, and what a `float64` nearly always does.
///
/// @param dot left by right, divided by both powers
/// @param left left by itself, divided by the square of its power
/// @param right right by itself, likewise
/// @param leftRange left was divided by `2^(510 leftRange)`
/// @param rightRange right was divided by `2^(510 rightRange)`
public record DotProducts(double dot, double left, double right, int leftRange, int rightRange) {
    /// What [#write] takes.
    public static final int BYTES = 5 * Double.BYTES;

    /// Of vectors without elements, to begin a sum with.
    public static final DotProducts EMPTY = new DotProducts(0, 0, 0, lowestRange(), lowestRange());

    /// The exponents of one range. Five ranges cover all that a `double` has, powers of two from
    /// the lowest to the highest range are normal numbers, and no vector but zero has a square
    /// below `2^-510`.
    private static final int STEP = 510;

    /// Below this squared norm, the root of the least normal number, a vector counts as zero: it
    /// has no direction that another one could share.
    private static final double NEGLIGIBLE = Math.sqrt(Double.MIN_NORMAL);

    private static final ValueLayout.OfDouble LAYOUT = ValueLayout.JAVA_DOUBLE_UNALIGNED;

    /// The range of a vector whose element of the largest magnitude is this one. Zero has the
    /// lowest.
    static int range(double largest) {
        return Math.floorDiv(Math.getExponent(largest) + STEP / 2, STEP);
    }

    private static int lowestRange() {
        return range(0);
    }

    /// What a vector of this range is multiplied with.
    static double factor(int range) {
        return Math.scalb(1.0, -STEP * range);
    }

    /// The products of longer vectors, of which these are the first elements and `next` the others.
    public DotProducts plus(DotProducts next) {
        int l = Math.max(leftRange, next.leftRange);
        int r = Math.max(rightRange, next.rightRange);
        return new DotProducts(
                scaled(dot, leftRange - l + rightRange - r)
                        + scaled(next.dot, next.leftRange - l + next.rightRange - r),
                scaled(left, 2 * (leftRange - l)) + scaled(next.left, 2 * (next.leftRange - l)),
                scaled(right, 2 * (rightRange - r)) + scaled(next.right, 2 * (next.rightRange - r)),
                l,
                r);
    }

    /// How much of each vector goes into their combination: 1 less half of what it has in common
    /// with the other, `1 - dot / (2 left)` and `1 - dot / (2 right)`.
    ///
    /// Both are calculated in units of the larger vector's power, in which nothing overflows: the
    /// combination is never much longer than the two vectors.
    public AdasumWeights weights() {
        int top = Math.max(leftRange, rightRange);
        double leftUnit = scaled(1.0, leftRange - top);
        double rightUnit = scaled(1.0, rightRange - top);
        return new AdasumWeights(
                leftUnit - halfProjection(left) * rightUnit,
                rightUnit - halfProjection(right) * leftUnit,
                factor(leftRange),
                factor(rightRange),
                factor(-top));
    }

    private double halfProjection(double square) {
        return square < NEGLIGIBLE ? 0 : dot / (2 * square);
    }

    private static double scaled(double value, int ranges) {
        return ranges == 0 ? value : Math.scalb(value, STEP * ranges);
    }

    /// Writes all numbers to `memory`, [#BYTES] bytes.
    public void write(MemorySegment memory, long offset) {
        memory.set(LAYOUT, offset, dot);
        memory.set(LAYOUT, offset + 8, left);
        memory.set(LAYOUT, offset + 16, right);
        memory.set(LAYOUT, offset + 24, leftRange);
        memory.set(LAYOUT, offset + 32, rightRange);
    }

    /// What [#write] has written.
    public static DotProducts read(MemorySegment memory, long offset) {
        return new DotProducts(
                memory.get(LAYOUT, offset),
                memory.get(LAYOUT, offset + 8),
                memory.get(LAYOUT, offset + 16),
                (int) memory.get(LAYOUT, offset + 24),
                (int) memory.get(LAYOUT, offset + 32));
    }
}
