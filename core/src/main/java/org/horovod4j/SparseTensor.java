package org.horovod4j;

import java.lang.foreign.ValueLayout;

/// Some rows of a larger tensor, such as the gradient of an embedding: `values[i]` is row
/// `indices[i]` of a tensor of shape `denseShape`, and all other rows are zero.
///
/// Indices may be in any order. The rows of an index that occurs more than once are added.
///
/// @param indices `int32` or `int64`, with one dimension
/// @param values one row for each index
/// @param denseShape the shape of the whole tensor
public record SparseTensor(Tensor indices, Tensor values, Shape denseShape) {
    public SparseTensor {
        if (indices.dataType() != DataType.INT32 && indices.dataType() != DataType.INT64) {
            throw new IllegalArgumentException(
                    "the indices of a sparse tensor are int32 or int64, not " + indices.dataType());
        }
        if (indices.shape().rank() != 1) {
            throw new IllegalArgumentException(
                    "the indices of a sparse tensor have one dimension, not the shape "
                            + indices.shape());
        }
        if (denseShape.rank() == 0) {
            throw new IllegalArgumentException(
                    "the dense shape of a sparse tensor needs a first dimension, but it is a scalar");
        }
        if (!indices.device().isHost() || !values.device().isHost()) {
            throw new IllegalArgumentException(
                    """
                    a sparse tensor is in main memory, but its indices are on %s and its values on %s
                    Copy them with Hvd.copy, or make a dense tensor of them."""
                            .formatted(indices.device(), values.device()));
        }
        long count = indices.elementCount();
        Shape expected = denseShape.withRows(count);
        if (!values.shape().equals(expected)) {
            throw new IllegalArgumentException(
                    """
                    %d indices into the dense shape %s need values of the shape %s, not %s
                    Give one row for each index, as long as the rows of the whole tensor."""
                            .formatted(count, denseShape, expected, values.shape()));
        }
        long rows = denseShape.dimension(0);
        for (long i = 0; i < count; i++) {
            long index = index(indices, i);
            if (index < 0 || index >= rows) {
                throw new IllegalArgumentException(
                        "index %d of a sparse tensor is %d, but the dense shape %s has rows 0 to %d"
                                .formatted(i, index, denseShape, rows - 1));
            }
        }
    }

    /// How many rows there are; an index that occurs twice counts twice.
    public long rowCount() {
        return indices.elementCount();
    }

    /// The row of the whole tensor that is row `position` of the values.
    public long index(long position) {
        return index(indices, position);
    }

    private static long index(Tensor indices, long position) {
        return indices.dataType() == DataType.INT32
                ? indices.segment().get(ValueLayout.JAVA_INT_UNALIGNED, position * Integer.BYTES)
                : indices.segment().get(ValueLayout.JAVA_LONG_UNALIGNED, position * Long.BYTES);
    }
}
