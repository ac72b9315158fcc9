package org.horovod4j.sparse;

import org.horovod4j.DataType;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Arrays;

/// Rows and their indices, independent of the data type of the indices.
final class IndexedRows {
    private final long[] indices;
    private final Tensor values;

    IndexedRows(long[] indices, Tensor values) {
        this.indices = indices;
        this.values = values;
    }

    static IndexedRows of(Tensor indices, Tensor values) {
        return new IndexedRows(
                indices.dataType() == DataType.INT64
                        ? indices.toLongArray()
                        : Arrays.stream(indices.toIntArray()).asLongStream().toArray(),
                values);
    }

    int count() {
        return indices.length;
    }

    long index(int position) {
        return indices[position];
    }

    Tensor values() {
        return values;
    }

    /// Whether indices ascend and occur once.
    boolean isStrictlyAscending() {
        for (int i = 1; i < indices.length; i++) {
            if (indices[i] <= indices[i - 1]) {
                return false;
            }
        }
        return true;
    }

    Tensor indices(DataType dataType) {
        Tensor tensor = Tensor.zeros(dataType, Shape.of(indices.length));
        for (int i = 0; i < indices.length; i++) {
            if (dataType == DataType.INT64) {
                tensor.segment().setAtIndex(ValueLayout.JAVA_LONG, i, indices[i]);
            } else {
                tensor.segment().setAtIndex(ValueLayout.JAVA_INT, i, (int) indices[i]);
            }
        }
        return tensor;
    }

    /// The whole tensor with these rows, and zeros elsewhere. The indices must ascend.
    Tensor toDense(Shape denseShape) {
        Tensor whole = Tensor.zeros(values.dataType(), denseShape);
        long rowBytes = denseShape.rowElements() * values.dataType().byteSize();
        for (int i = 0; i < indices.length; i++) {
            MemorySegment.copy(
                    values.segment(),
                    i * rowBytes,
                    whole.segment(),
                    indices[i] * rowBytes,
                    rowBytes);
        }
        return whole;
    }
}
