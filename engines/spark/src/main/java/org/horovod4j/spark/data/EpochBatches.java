package org.horovod4j.spark.data;

import org.horovod4j.ConfigurationException;
import org.horovod4j.data.Prefetcher;
import org.jspecify.annotations.Nullable;

import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;

/// One rank's batches of an epoch, read ahead in another thread. Close it, also after the last batch.
///
/// One thread uses it.
public final class EpochBatches implements Iterator<RowBatch>, AutoCloseable {
    private final Prefetcher<RowBatch> batches;
    private final @Nullable Prefetcher<ShuffledRows> windows;

    /// @param skipped rows of the first window that are left out
    /// @param rows of all batches; if the windows have fewer, the last row is repeated
    /// @param ahead what `windows` needs to be closed
    EpochBatches(
            List<Column> columns,
            Iterator<ShuffledRows> windows,
            int skipped,
            int rows,
            ReadOptions options,
            @Nullable Prefetcher<ShuffledRows> ahead) {
        this.windows = ahead;
        this.batches =
                new Prefetcher<>(
                        new BatchAssembler(columns, windows, skipped, rows, options.batchSize()),
                        options.prefetchBatches());
    }

    /// Waits until a batch is there, or the epoch has ended.
    ///
    /// @throws ConfigurationException when the data are not as the columns say: a null, a vector of
    ///     another length
    /// @throws IllegalStateException with the exception of the reader as its cause, or when this
    ///     thread is interrupted
    @Override
    public boolean hasNext() {
        try {
            return batches.hasNext();
        } catch (IllegalStateException e) {
            for (Throwable cause = e.getCause(); cause != null; cause = cause.getCause()) {
                if (cause instanceof ConfigurationException) {
                    throw new ConfigurationException(String.valueOf(cause.getMessage()), e);
                }
            }
            throw e;
        }
    }

    @Override
    public RowBatch next() {
        if (!hasNext()) {
            throw new NoSuchElementException("the epoch has no more batches");
        }
        return batches.next();
    }

    /// Ends the threads that read.
    @Override
    public void close() {
        batches.close(); // first: its thread uses the other one
        if (windows != null) {
            windows.close();
        }
    }

    /// Copies rows of windows into batches.
    private static final class BatchAssembler implements Iterator<RowBatch> {
        private final List<Column> columns;
        private final Iterator<ShuffledRows> windows;
        private final int batchSize;
        private ShuffledRows current = new ShuffledRows(new RowBlock[0], new int[0]);
        private int position;
        private int left;

        BatchAssembler(
                List<Column> columns,
                Iterator<ShuffledRows> windows,
                int skipped,
                int rows,
                int batchSize) {
            this.columns = columns;
            this.windows = windows;
            this.position = skipped;
            this.left = rows;
            this.batchSize = batchSize;
        }

        @Override
        public boolean hasNext() {
            return left > 0;
        }

        @Override
        public RowBatch next() {
            if (!hasNext()) {
                throw new NoSuchElementException("the epoch has no more batches");
            }
            int rows = Math.min(batchSize, left);
            Object[] arrays = ColumnArrays.allocate(columns, rows);
            int filled = 0;
            while (filled < rows) {
                advance();
                int count = Math.min(rows - filled, current.rows() - position);
                current.copy(position, count, arrays, filled);
                position += count;
                filled += count;
            }
            left -= rows;
            return new RowBatch(columns, arrays, rows);
        }

        /// Goes to the next window at the end of one, or to the last row if there is none.
        private void advance() {
            while (position >= current.rows()) {
                if (!windows.hasNext()) {
                    position = current.rows() - 1;
                    return;
                }
                position -= current.rows();
                current = windows.next();
            }
        }
    }
}
