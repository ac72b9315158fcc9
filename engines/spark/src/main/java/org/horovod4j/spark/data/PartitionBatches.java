package org.horovod4j.spark.data;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.jspecify.annotations.Nullable;

import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.stream.Collectors;

/// The rows of a partition as batches.
final class PartitionBatches implements Iterator<RowBatch> {
    private final Rows rows;
    private final int maxBatchRows;
    private final long maxBatchBytes;

    private PartitionBatches(Rows rows, int maxBatchRows, long maxBatchBytes) {
        this.rows = rows;
        this.maxBatchRows = maxBatchRows;
        this.maxBatchBytes = maxBatchBytes;
    }

    /// Batches of rows. Each row is copied before the next is asked for.
    ///
    /// @param maxBatchBytes batches with more bytes have one row
    /// @param partition its number, for messages
    static PartitionBatches ofRows(
            Iterator<InternalRow> rows,
            List<SparkColumn> columns,
            int maxBatchRows,
            long maxBatchBytes,
            int partition) {
        return new PartitionBatches(
                new SingleRows(rows, columns, partition), maxBatchRows, maxBatchBytes);
    }

    /// Batches of rows that Spark has as columns.
    static PartitionBatches ofColumns(
            Iterator<ColumnarBatch> parts,
            List<SparkColumn> columns,
            int batchSize,
            int partition) {
        return new PartitionBatches(
                new ColumnarRows(parts, columns, partition), batchSize, Long.MAX_VALUE);
    }

    @Override
    public boolean hasNext() {
        return rows.hasNext();
    }

    @Override
    public RowBatch next() {
        if (!hasNext()) {
            throw new NoSuchElementException("the partition has no more rows");
        }
        List<Column> columns = rows.columns();
        long rowBytes = columns.stream().mapToLong(Column::byteSize).sum();
        int batchSize = Math.clamp(maxBatchBytes / Math.max(1, rowBytes), 1, maxBatchRows);
        Object[] arrays = ColumnArrays.allocate(columns, batchSize);
        int filled = 0;
        while (filled < batchSize && rows.hasNext()) {
            filled += rows.copy(arrays, filled, batchSize - filled);
        }
        return new RowBatch(columns, filled == batchSize ? arrays : cut(arrays, filled), filled);
    }

    private Object[] cut(Object[] arrays, int filled) {
        Object[] shorter = ColumnArrays.allocate(rows.columns(), filled);
        for (int i = 0; i < arrays.length; i++) {
            System.arraycopy(arrays[i], 0, shorter[i], 0, filled * rows.columns().get(i).length());
        }
        return shorter;
    }

    /// A source of rows.
    private abstract static sealed class Rows implements SparkColumn.RowDescription {
        final List<SparkColumn> sources;
        private final int partition;
        private long used;
        int offset; // of the current row in those that are copied together
        private @Nullable List<Column> columns;

        Rows(List<SparkColumn> sources, int partition) {
            this.sources = sources;
            this.partition = partition;
        }

        abstract boolean hasNext();

        /// The next row, which is not used by this.
        abstract InternalRow peek();

        /// Copies some rows.
        ///
        /// @param row the first one in the arrays
        /// @return how many it has copied, at least one and at most `limit`
        abstract int copy(Object[] arrays, int row, int limit);

        List<Column> columns() {
            if (columns == null) {
                InternalRow first = peek();
                columns = sources.stream().map(source -> source.column(first, this)).toList();
            }
            return columns;
        }

        final void copy(InternalRow from, int column, Object[] arrays, int row) {
            Column own = columns().get(column);
            sources.get(column).copy(from, own, arrays[column], row * own.length(), this);
        }

        final void count(int rows) {
            used += rows;
        }

        @Override
        public String of(InternalRow row) {
            return "row %d of partition %d (%s)"
                    .formatted(
                            used + offset,
                            partition,
                            sources.stream()
                                    .map(it -> it.request().name() + "=" + it.valueText(row))
                                    .collect(Collectors.joining(", ")));
        }
    }

    private static final class SingleRows extends Rows {
        private final Iterator<InternalRow> rows;
        private @Nullable InternalRow next;

        SingleRows(Iterator<InternalRow> rows, List<SparkColumn> sources, int partition) {
            super(sources, partition);
            this.rows = rows;
        }

        @Override
        boolean hasNext() {
            return next != null || rows.hasNext();
        }

        @Override
        InternalRow peek() {
            if (next == null) {
                next = rows.next();
            }
            return next;
        }

        @Override
        int copy(Object[] arrays, int row, int limit) {
            InternalRow from = peek();
            for (int column = 0; column < arrays.length; column++) {
                copy(from, column, arrays, row);
            }
            next = null;
            count(1);
            return 1;
        }
    }

    private static final class ColumnarRows extends Rows {
        private final Iterator<ColumnarBatch> parts;
        private @Nullable ColumnarBatch current;
        private int position;

        ColumnarRows(Iterator<ColumnarBatch> parts, List<SparkColumn> sources, int partition) {
            super(sources, partition);
            this.parts = parts;
        }

        @Override
        boolean hasNext() {
            // Spark uses the memory of a part again for the next: ask for it when this one is
            // copied.
            while (current == null || position >= current.numRows()) {
                if (!parts.hasNext()) {
                    return false;
                }
                current = parts.next();
                position = 0;
            }
            return true;
        }

        @Override
        InternalRow peek() {
            return part().getRow(position);
        }

        private ColumnarBatch part() {
            if (!hasNext() || current == null) {
                throw new NoSuchElementException("the partition has no more rows");
            }
            return current;
        }

        @Override
        int copy(Object[] arrays, int row, int limit) {
            ColumnarBatch part = part();
            int count = Math.min(limit, part.numRows() - position);
            for (int column = 0; column < arrays.length; column++) {
                SparkColumn source = sources.get(column);
                var vector = part.column(source.ordinal());
                if (source.canCopyAll(vector, columns().get(column))) {
                    source.copyAll(vector, position, count, arrays[column], row);
                } else {
                    for (int i = 0; i < count; i++) {
                        offset = i;
                        copy(part.getRow(position + i), column, arrays, row + i);
                    }
                }
            }
            offset = 0;
            position += count;
            count(count);
            return count;
        }
    }
}
