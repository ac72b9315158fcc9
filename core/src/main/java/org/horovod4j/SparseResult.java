package org.horovod4j;

import java.lang.foreign.MemorySegment;

/// The sum of the ranks' sparse tensors: rows if they are few, and the whole tensor if the rows
/// would take as much memory. All ranks get the same kind.
///
/// ```java
/// switch (comm.sparseAllreduce("embedding", gradient, ReduceOp.AVERAGE)) {
///     case SparseResult.Rows(SparseTensor rows) -> optimizer.updateRows(rows);
///     case SparseResult.Dense(Tensor whole) -> optimizer.update(whole);
/// }
/// ```
public sealed interface SparseResult {
    /// The rows that any rank gave, each once and in ascending order; all others are zero.
    record Rows(SparseTensor rows) implements SparseResult {
        public Rows {
            for (long i = 1; i < rows.rowCount(); i++) {
                if (rows.index(i) <= rows.index(i - 1)) {
                    throw new IllegalArgumentException(
                            "reduced rows ascend, each once, but row %d follows row %d"
                                    .formatted(rows.index(i), rows.index(i - 1)));
                }
            }
        }

        /// Makes a new tensor.
        @Override
        public Tensor toDense() {
            Tensor whole = Tensor.zeros(rows.values().dataType(), rows.denseShape());
            long rowBytes =
                    rows.denseShape().rowElements() * (long) rows.values().dataType().byteSize();
            for (long i = 0; i < rows.rowCount(); i++) {
                MemorySegment.copy(
                        rows.values().segment(),
                        i * rowBytes,
                        whole.segment(),
                        rows.index(i) * rowBytes,
                        rowBytes);
            }
            return whole;
        }
    }

    /// The whole tensor, zero where no rank gave a row.
    record Dense(Tensor tensor) implements SparseResult {
        /// The tensor itself.
        @Override
        public Tensor toDense() {
            return tensor;
        }
    }

    /// The whole tensor, whatever its size.
    Tensor toDense();
}
