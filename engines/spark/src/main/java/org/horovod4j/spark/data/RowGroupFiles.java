package org.horovod4j.spark.data;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.parquet.HadoopReadOptions;
import org.apache.parquet.ParquetReadOptions;
import org.apache.parquet.column.impl.ColumnReadStoreImpl;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.example.DummyRecordConverter;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.Type;
import org.apache.spark.SparkEnv;
import org.apache.spark.deploy.SparkHadoopUtil;
import org.horovod4j.spark.data.StoredRows.RowGroup;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.security.PrivilegedExceptionAction;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;

/// Reads row groups of Parquet files. Any thread may use it.
final class RowGroupFiles {
    private final Configuration configuration = configuration();
    private final Map<String, ParquetMetadata> footers = new ConcurrentHashMap<>();

    /// The user of the thread that creates this. A thread that reads ahead does not inherit it.
    private final UserGroupInformation user;

    RowGroupFiles() {
        try {
            this.user = UserGroupInformation.getCurrentUser();
        } catch (IOException e) {
            throw new UncheckedIOException("the user of this thread is not known", e);
        }
    }

    /// The settings of Hadoop: those of the application (`spark.hadoop.*`), which a rank in its own
    /// process has as system properties, and those of the class path.
    static Configuration configuration() {
        SparkEnv environment = SparkEnv.get();
        return environment == null
                ? SparkHadoopUtil.get().conf()
                : SparkHadoopUtil.get().newConfiguration(environment.conf());
    }

    /// Reads the columns of some rows.
    RowBlock read(RankReader.Part part, List<Column> columns) {
        Object[] arrays = ColumnArrays.allocate(columns, part.rows());
        decode(
                part.rowGroup(),
                columns,
                (i, column) -> column.read(arrays[i], part.from(), part.to()));
        return new RowBlock(columns, arrays, part.rows());
    }

    /// The columns that requests give, with the lengths of the vectors in the first row.
    List<Column> columns(RowGroup first, List<ColumnRequest> requests) {
        try {
            MessageType schema = footer(first.file()).getFileMetaData().getSchema();
            ParquetSchemas.check(schema, requests, first.file());
            List<Column> unsized =
                    requests.stream()
                            .map(it -> ParquetSchemas.column(it, schema.getType(it.name()), 0))
                            .toList();
            Column[] columns = new Column[unsized.size()];
            decode(
                    first,
                    unsized,
                    (i, column) ->
                            columns[i] =
                                    ParquetSchemas.column(
                                            requests.get(i),
                                            schema.getType(requests.get(i).name()),
                                            column.firstLength()));
            return List.of(columns);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read " + first.file(), e);
        }
    }

    private void decode(
            RowGroup rowGroup, List<Column> columns, BiConsumer<Integer, ParquetColumn> use) {
        try {
            asUser(
                    () -> {
                        decodeHere(rowGroup, columns, use);
                        return rowGroup;
                    });
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read rows of " + rowGroup.file(), e);
        }
    }

    private <T> T asUser(PrivilegedExceptionAction<T> action) throws IOException {
        try {
            return user.doAs(action);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted while reading");
        }
    }

    private void decodeHere(
            RowGroup rowGroup, List<Column> columns, BiConsumer<Integer, ParquetColumn> use)
            throws IOException {
        String file = rowGroup.file();
        try (ParquetFileReader reader = open(file)) {
            ParquetMetadata footer = reader.getFooter();
            MessageType schema = footer.getFileMetaData().getSchema();
            MessageType requested = new MessageType(schema.getName(), types(schema, columns, file));
            reader.setRequestedSchema(requested);
            PageReadStore pages = reader.readRowGroup(rowGroup.index());
            ColumnReadStoreImpl store =
                    new ColumnReadStoreImpl(
                            pages,
                            new DummyRecordConverter(requested).getRootConverter(),
                            requested,
                            footer.getFileMetaData().getCreatedBy());
            long offset = footer.getBlocks().get(rowGroup.index()).getRowIndexOffset();
            RowPlace place = new RowPlace(file, Math.max(0, offset));
            for (int i = 0; i < columns.size(); i++) {
                use.accept(i, ParquetColumn.of(columns.get(i), requested, store, place));
            }
        }
    }

    /// Where the rows of a row group are, for messages.
    record RowPlace(String file, long firstRow) {
        String row(int row) {
            return "row %d of %s".formatted(firstRow + row, file);
        }
    }

    private static List<Type> types(MessageType schema, List<Column> columns, String file) {
        return columns.stream()
                .map(column -> ParquetSchemas.type(schema, column.name(), file))
                .toList();
    }

    ParquetMetadata footer(String file) throws IOException {
        return asUser(
                () -> {
                    try (ParquetFileReader reader = open(file)) {
                        return reader.getFooter();
                    }
                });
    }

    private ParquetFileReader open(String file) throws IOException {
        HadoopInputFile input = HadoopInputFile.fromPath(new Path(file), configuration);
        ParquetReadOptions options = HadoopReadOptions.builder(configuration).build();
        ParquetMetadata known = footers.get(file);
        if (known != null) {
            return ParquetFileReader.open(input, known, options, input.newStream());
        }
        ParquetFileReader reader = ParquetFileReader.open(input, options);
        footers.put(file, reader.getFooter());
        return reader;
    }
}
