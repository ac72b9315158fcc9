package org.horovod4j.collectives.kernel;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/// The dot products of two vectors that Adasum needs, in double precision and safe from overflow.
///
/// The square of a `float64` may not be representable: `1e200` squared overflows, and `1e-200`
/// squared underflows. Therefore each vector has a *range*, the power of two by which it was
/// divided before the multiplication. After the division its largest element lies between `2^-255`
/// and `2^255`. Range 0 means no division: always for other types, and nearly always for `float64`.
///
/// @param dot left times right, divided by both powers
/// @param left left times left, divided by the square of its power
/// @param right right times right, divided by the square of its power
/// @param leftRange left was divided by `2^(510 leftRange)`
/// @param rightRange right was divided by `2^(510 rightRange)`
public record DotProducts(double dot, double left, double right, int leftRange, int rightRange) {
    /// The size of the data that [#write] writes.
    public static final int BYTES = 5 * Double.BYTES;

    /// The products of empty vectors: the start of a sum.
    public static final DotProducts EMPTY = new DotProducts(0, 0, 0, lowestRange(), lowestRange());

    /// The exponents in one range. Five ranges cover all `double` values, powers of two from the
    /// lowest to the highest range are normal numbers, and only the zero vector has a square below
    /// `2^-510`.
    private static final int STEP = 510;

    /// A vector with a smaller squared norm, the root of the smallest normal number, is treated as
    /// zero: it has no meaningful direction.
    private static final double NEGLIGIBLE = Math.sqrt(Double.MIN_NORMAL);

    private static final ValueLayout.OfDouble LAYOUT = ValueLayout.JAVA_DOUBLE_UNALIGNED;

    /// The range of a vector whose largest magnitude is `largest`. Zero has the lowest range.
    static int range(double largest) {
        return Math.floorDiv(Math.getExponent(largest) + STEP / 2, STEP);
    }

    private static int lowestRange() {
        return range(0);
    }

    /// The factor that scales a vector of this range.
    static double factor(int range) {
        return Math.scalb(1.0, -STEP * range);
    }

    /// The products of two concatenated vectors: this is the first part, `next` the second.
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

    /// The weights of the two vectors in their combination: `1 - dot / (2 left)` and
    /// `1 - dot / (2 right)`.
    ///
    /// Both are calculated in units of the larger vector's power, which avoids overflow: the
    /// combination is never much longer than the two vectors.
    public Weights weights() {
        int top = Math.max(leftRange, rightRange);
        double leftUnit = scaled(1.0, leftRange - top);
        double rightUnit = scaled(1.0, rightRange - top);
        return new Weights(
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

    /// Writes [#BYTES] bytes to `memory`.
    public void write(MemorySegment memory, long offset) {
        memory.set(LAYOUT, offset, dot);
        memory.set(LAYOUT, offset + 8, left);
        memory.set(LAYOUT, offset + 16, right);
        memory.set(LAYOUT, offset + 24, leftRange);
        memory.set(LAYOUT, offset + 32, rightRange);
    }

    /// Reads what [#write] has written.
    public static DotProducts read(MemorySegment memory, long offset) {
        return new DotProducts(
                memory.get(LAYOUT, offset),
                memory.get(LAYOUT, offset + 8),
                memory.get(LAYOUT, offset + 16),
                (int) memory.get(LAYOUT, offset + 24),
                (int) memory.get(LAYOUT, offset + 32));
    }

    /// How two vectors are combined:
    /// `unit * (left * (leftFactor * a) + right * (rightFactor * b))`.
    ///
    /// @param left the weight of the left vector
    /// @param right the weight of the right vector
    /// @param leftFactor a power of two that scales the left vector to the middle of the range of a
    ///     `double`
    /// @param rightFactor the same for the right vector
    /// @param unit a power of two that reverses the scaling in the result
    public record Weights(
            double left, double right, double leftFactor, double rightFactor, double unit) {
        /// Whether all powers of two are 1, as for all types except `float64`.
        boolean isUnscaled() {
            return leftFactor == 1.0 && rightFactor == 1.0 && unit == 1.0;
        }
    }
}
