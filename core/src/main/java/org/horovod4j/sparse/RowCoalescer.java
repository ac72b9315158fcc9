package org.horovod4j.sparse;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.collectives.kernel.Kernels;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;

/// Adds rows with equal indices, and sorts rows by index.
///
/// Costs a sort of the indices and one pass over the rows, and nothing if they ascend already.
final class RowCoalescer {
    private final Kernels kernels;

    RowCoalescer(Kernels kernels) {
        this.kernels = kernels;
    }

    /// The same rows with each index once. Rows with equal indices are added in their order, so the
    /// bits of a sum are reproducible.
    ///
    /// @param denseRows larger than every index
    IndexedRows coalesce(IndexedRows indexedRows, long denseRows) {
        if (indexedRows.isStrictlyAscending()) {
            return indexedRows;
        }
        int count = indexedRows.count();
        long[] order = order(indexedRows, denseRows);
        long[] unique = new long[count];
        int[] starts = new int[count + 1];
        int found = 0;
        for (int i = 0; i < count; i++) {
            long index = order[i] / count;
            if (found == 0 || unique[found - 1] != index) {
                unique[found] = index;
                starts[found++] = i;
            }
        }
        starts[found] = count;
        Tensor sums = sums(offHeap(indexedRows.values()), order, Arrays.copyOf(starts, found + 1));
        return new IndexedRows(Arrays.copyOf(unique, found), sums);
    }

    /// Index and position of each row as one number, sorted: a stable order without boxing.
    private static long[] order(IndexedRows indexedRows, long denseRows) {
        int count = indexedRows.count();
        long _ = Math.multiplyExact(denseRows, (long) count);
        long[] order = new long[count];
        for (int i = 0; i < count; i++) {
            order[i] = indexedRows.index(i) * count + i;
        }
        Arrays.sort(order);
        return order;
    }

    /// @param starts where the rows of each sum begin in `order`, and its end
    private Tensor sums(Tensor values, long[] order, int[] starts) {
        DataType dataType = values.dataType();
        Shape shape = values.shape();
        Tensor sums = Tensor.zeros(dataType, shape.withRows(starts.length - 1L));
        long elements = shape.rowElements();
        long rowBytes = elements * dataType.byteSize();
        int most = 0;
        for (int i = 1; i < starts.length; i++) {
            most = Math.max(most, starts[i] - starts[i - 1]);
        }
        MemorySegment[] sources = new MemorySegment[most];
        Arrays.fill(sources, values.segment());
        long[] offsets = new long[most];
        for (int i = 1; i < starts.length; i++) {
            int terms = starts[i] - starts[i - 1];
            for (int k = 0; k < terms; k++) {
                offsets[k] = order[starts[i - 1] + k] % order.length * rowBytes;
            }
            kernels.reduce(
                    dataType,
                    ReduceOp.SUM,
                    sums.segment(),
                    (i - 1) * rowBytes,
                    sources,
                    offsets,
                    terms,
                    elements);
        }
        return sums;
    }

    /// The same values outside the heap, where kernels work.
    private static Tensor offHeap(Tensor values) {
        if (values.segment().isNative()) {
            return values;
        }
        Tensor copy = Tensor.zeros(values.dataType(), values.shape());
        copy.segment().copyFrom(values.segment());
        return copy;
    }
}
