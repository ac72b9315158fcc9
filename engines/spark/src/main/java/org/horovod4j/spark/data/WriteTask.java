package org.horovod4j.spark.data;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.Function2;
import org.apache.spark.sql.catalyst.InternalRow;
import org.horovod4j.ConfigurationException;
import org.horovod4j.spark.data.StoredRows.RowGroup;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;

/// Writes the rows of a partition, in an executor.
///
/// Each attempt of a task has files of its own. The driver uses those whose description it gets, so
/// attempts that failed or were repeated leave nothing but files that are not read.
///
/// @param sources the columns; the last one chooses the rows to validate with, if there are any
record WriteTask(String folder, String prefix, List<SparkColumn> sources, WriteOptions options)
        implements Function2<Integer, Iterator<InternalRow>, Iterator<WriteTask.Written>> {
    private static final int MAX_BATCH_ROWS = 1024;
    private static final long MAX_BATCH_BYTES = 1 << 20;

    /// What a task has written.
    ///
    /// @param columns none if the partition was empty
    /// @param error what is wrong with the rows; null if they are written
    record Written(
            List<Column> columns,
            List<RowGroup> training,
            List<RowGroup> validation,
            @Nullable String error)
            implements Serializable {}

    @Override
    public Iterator<Written> call(Integer partition, Iterator<InternalRow> rows) throws Exception {
        return List.of(write(partition, rows)).iterator();
    }

    private Written write(int partition, Iterator<InternalRow> rows) throws IOException {
        PartitionBatches batches =
                PartitionBatches.ofRows(rows, sources, MAX_BATCH_ROWS, MAX_BATCH_BYTES, partition);
        try (Files files = new Files(partition)) {
            while (batches.hasNext()) {
                files.write(batches.next());
            }
            return files.finish();
        } catch (ConfigurationException e) {
            // Not thrown: Spark would try again.
            return new Written(List.of(), List.of(), List.of(), e.getMessage());
        }
    }

    /// The file of the rows to train with, and that of the rows to validate with.
    private final class Files implements AutoCloseable {
        private final Configuration configuration = RowGroupFiles.configuration();
        private final int partition;
        private List<Column> columns = List.of();
        private @Nullable PartWriter training;
        private @Nullable PartWriter validation;
        private boolean isFinished;

        Files(int partition) {
            this.partition = partition;
        }

        void write(RowBatch batch) throws IOException {
            int own = batch.columns().size() - (options.hasValidation() ? 1 : 0);
            columns = batch.columns().subList(0, own);
            byte @Nullable [] isValidation =
                    options.hasValidation() ? (byte[]) batch.values(own) : null;
            for (int row = 0; row < batch.rows(); row++) {
                if (isValidation != null && isValidation[row] != 0) {
                    if (validation == null) {
                        validation = open("validation");
                    }
                    validation.write(batch, row);
                } else {
                    if (training == null) {
                        training = open("training");
                    }
                    training.write(batch, row);
                }
            }
        }

        private PartWriter open(String use) throws IOException {
            return new PartWriter(
                    path(use),
                    configuration,
                    columns,
                    options.codec(),
                    PartWriter.rowsPerGroup(columns));
        }

        private Path path(String use) {
            return new Path(
                    folder,
                    "%s-%s-%05d-%d.parquet"
                            .formatted(use, prefix, partition, TaskContext.get().taskAttemptId()));
        }

        Written finish() throws IOException {
            Written written =
                    new Written(
                            new ArrayList<>(columns), finish(training), finish(validation), null);
            isFinished = true;
            return written;
        }

        private static List<RowGroup> finish(@Nullable PartWriter writer) throws IOException {
            if (writer == null) {
                return List.of();
            }
            writer.close();
            return writer.rowGroups();
        }

        /// Removes what a failed attempt has written.
        @Override
        public void close() throws IOException {
            if (isFinished) {
                return;
            }
            for (PartWriter writer : new @Nullable PartWriter[] {training, validation}) {
                if (writer != null) {
                    writer.close();
                }
            }
            FileSystem files = new Path(folder).getFileSystem(configuration);
            files.delete(path("training"), false);
            files.delete(path("validation"), false);
        }
    }
}
