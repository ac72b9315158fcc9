package org.horovod4j;

import java.util.Arrays;

/// The dimensions of a tensor, outermost first. A scalar has none.
public final class Shape {
    /// The shape of a single value: no dimensions.
    public static final Shape SCALAR = new Shape();

    private final long[] dimensions;
    private final long elementCount;

    private Shape(long... dimensions) {
        long count = 1;
        for (long dimension : dimensions) {
            if (dimension < 0) {
                throw new IllegalArgumentException(
                        "a shape has no negative dimensions: " + Arrays.toString(dimensions));
            }
            count = Math.multiplyExact(count, dimension);
        }
        this.dimensions = dimensions;
        this.elementCount = count;
    }

    /// The shape with these dimensions; without any, [#SCALAR].
    public static Shape of(long... dimensions) {
        return dimensions.length == 0 ? SCALAR : new Shape(dimensions.clone());
    }

    /// How many dimensions there are.
    public int rank() {
        return dimensions.length;
    }

    /// The size of one dimension.
    public long dimension(int index) {
        return dimensions[index];
    }

    /// The product of all dimensions.
    public long elementCount() {
        return elementCount;
    }

    /// Elements of one row, that is of one index of the first dimension.
    public long rowElements() {
        long count = 1;
        for (int i = 1; i < dimensions.length; i++) {
            count = Math.multiplyExact(count, dimensions[i]);
        }
        return count;
    }

    /// The same shape with another first dimension.
    public Shape withRows(long rows) {
        long[] changed = dimensions.clone();
        changed[0] = rows;
        return new Shape(changed);
    }

    public long[] toArray() {
        return dimensions.clone();
    }

    @Override
    public boolean equals(Object other) {
        return this == other
                || (other instanceof Shape shape && Arrays.equals(dimensions, shape.dimensions));
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(dimensions);
    }

    @Override
    public String toString() {
        return Arrays.toString(dimensions);
    }
}
