package org.horovod4j.spark.data;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.pmod;
import static org.apache.spark.sql.functions.xxhash64;

import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.horovod4j.ConfigurationException;
import org.horovod4j.DataType;
import org.horovod4j.spark.data.StoredRows.RowGroup;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;

/// A folder for training data, on any file system that Hadoop knows: local, HDFS, S3, …
///
/// ```java
/// Store store = Store.at("hdfs://namenode/tmp/horovod4j");
/// List<ColumnRequest> columns = List.of(ColumnRequest.of("features"), ColumnRequest.of("label"));
/// StoredData data = store.write(dataset, columns, WriteOptions.forRanks(4));
/// try {
///     HvdSpark.execute(spark, 4, comm -> train(data, comm));
/// } finally {
///     store.remove(data);
/// }
/// ```
///
/// All machines of the cluster see the folder. Data that are Parquet files already need no copy:
/// [#use]. A driver calls these methods; ranks get the [StoredData].
public final class Store {
    private static final String VALIDATION = "horovod4j_validation";
    private static final int FOOTER_READERS = 16;
    private static final long HASH_RANGE = 1L << 40;

    private final Path folder;
    private final FileSystem files;

    private Store(Path folder, FileSystem files) {
        this.folder = folder;
        this.files = files;
    }

    /// A store in this folder, which need not exist.
    ///
    /// @param folder a URI such as `hdfs://host/path` or `file:///path`, or a path on Spark's default
    ///     file system
    /// @throws ConfigurationException if no file system of this URI is known
    public static Store at(String folder) {
        try {
            Path path = new Path(folder);
            FileSystem files = path.getFileSystem(RowGroupFiles.configuration());
            return new Store(files.makeQualified(path), files);
        } catch (IOException | IllegalArgumentException e) {
            throw new ConfigurationException(
                    "the store '%s' cannot be used: %s".formatted(folder, e.getMessage()), e);
        }
    }

    /// The folder, as a URI.
    public String folder() {
        return folder.toString();
    }

    /// Writes rows as Parquet files. Each row is written once.
    ///
    /// Spark distributes the rows evenly, in random order. The files are the same each time for the
    /// same rows, options and number of partitions, also if Spark computes the rows in another order.
    ///
    /// A [WriteOptions#validationFraction] chooses rows by their values in `columns` and the seed, so
    /// the same rows are chosen for any number of ranks and executors. Rows with equal values are all
    /// to train with, or all to validate with.
    ///
    /// @param columns those to write
    /// @throws ConfigurationException if a column is missing or has a type that cannot be trained
    ///     with, a row has a null or a vector of another length, or there are no rows
    public StoredData write(Dataset<?> dataset, List<ColumnRequest> columns, WriteOptions options) {
        SparkColumn.of(dataset.schema(), withValidation(columns, options)); // checks them
        String name = options.name();
        Path target = new Path(folder, name == null ? "data-" + UUID.randomUUID() : name);
        StoredDescription description = new StoredDescription(files, target);
        try {
            if (name != null) {
                StoredData kept = description.read(columns, options);
                if (kept != null) {
                    return kept;
                }
            }
            StoredData data = write(dataset, columns, options, target);
            if (name != null) {
                description.write(data, columns, options);
            }
            return data;
        } catch (IOException e) {
            throw new UncheckedIOException("cannot use " + target, e);
        }
    }

    private static List<ColumnRequest> withValidation(
            List<ColumnRequest> columns, WriteOptions options) {
        String chosen = options.validationColumn();
        return chosen == null
                ? columns
                : Stream.concat(columns.stream(), Stream.of(ColumnRequest.of(chosen))).toList();
    }

    private StoredData write(
            Dataset<?> dataset, List<ColumnRequest> columns, WriteOptions options, Path target)
            throws IOException {
        boolean isTemporary = options.name() == null;
        try {
            return describe(run(dataset, columns, options, target), target, isTemporary);
        } catch (Throwable e) { // Spark throws exceptions that it does not declare
            if (isTemporary) {
                deleteAfter(e, target);
            }
            throw e;
        }
    }

    private void deleteAfter(Throwable failure, Path target) {
        try {
            files.delete(target, true);
        } catch (IOException e) {
            failure.addSuppressed(e);
        }
    }

    private static List<WriteTask.Written> run(
            Dataset<?> dataset, List<ColumnRequest> columns, WriteOptions options, Path target) {
        Dataset<Row> rows = distribute(dataset, columns, options);
        List<SparkColumn> sources = new ArrayList<>(SparkColumn.of(rows.schema(), columns));
        if (options.hasValidation()) {
            sources.add(validationSource(rows, options));
        }
        WriteTask task =
                new WriteTask(
                        target.toString(),
                        UUID.randomUUID().toString().substring(0, 8),
                        List.copyOf(sources),
                        options);
        return DatasetBatches.internalRows(rows).mapPartitionsWithIndex(task, false).collect();
    }

    /// The column that chooses rows to validate with. Messages have the name that the user knows.
    private static SparkColumn validationSource(Dataset<Row> rows, WriteOptions options) {
        ColumnRequest request = ColumnRequest.of(VALIDATION, DataType.BOOL);
        SparkColumn source = SparkColumn.of(rows.schema(), List.of(request)).getFirst();
        String chosen = options.validationColumn();
        return chosen == null ? source : source.renamed(chosen);
    }

    /// Distributes the rows to partitions of equal size, in the order of a hash of their values. (The
    /// order in which a partition gets rows from others changes from run to run.)
    private static Dataset<Row> distribute(
            Dataset<?> dataset, List<ColumnRequest> columns, WriteOptions options) {
        List<org.apache.spark.sql.Column> selected = new ArrayList<>();
        for (ColumnRequest request : columns) {
            selected.add(named(request.name()));
        }
        String chosen = options.validationColumn();
        if (chosen != null) {
            selected.add(named(chosen).cast("boolean").as(VALIDATION));
        }
        org.apache.spark.sql.Column[] array = selected.toArray(org.apache.spark.sql.Column[]::new);
        int parallel = dataset.sparkSession().sparkContext().defaultParallelism();
        int perRank = Math.max(1, Math.ceilDiv(parallel, options.ranks()));
        Dataset<Row> rows = dataset.select(array).repartition(perRank * options.ranks());
        org.apache.spark.sql.Column[] hashed =
                Stream.concat(
                                Stream.of(lit(options.seed())),
                                Stream.of(rows.columns()).map(Store::named))
                        .toArray(org.apache.spark.sql.Column[]::new);
        rows = rows.sortWithinPartitions(xxhash64(hashed));
        if (options.validationFraction() == 0) {
            return rows;
        }
        hashed[0] = lit(~options.seed()); // independent of the order
        long chosenHashes = (long) (options.validationFraction() * HASH_RANGE);
        return rows.withColumn(
                VALIDATION, pmod(xxhash64(hashed), lit(HASH_RANGE)).lt(lit(chosenHashes)));
    }

    /// A column, also if its name has a dot.
    private static org.apache.spark.sql.Column named(String name) {
        return col("`" + name.replace("`", "``") + "`");
    }

    private StoredData describe(List<WriteTask.Written> parts, Path target, boolean isTemporary)
            throws IOException {
        for (WriteTask.Written part : parts) {
            if (part.error() != null) {
                throw new ConfigurationException(part.error());
            }
        }
        List<WriteTask.Written> full =
                parts.stream().filter(part -> !part.columns().isEmpty()).toList();
        if (full.isEmpty()) {
            throw new ConfigurationException(
                    "the Dataset has no rows: there is nothing to train with.");
        }
        List<Column> columns = full.getFirst().columns();
        for (WriteTask.Written part : full) {
            checkLengths(columns, part.columns());
        }
        List<RowGroup> training = full.stream().flatMap(it -> it.training().stream()).toList();
        List<RowGroup> validation = full.stream().flatMap(it -> it.validation().stream()).toList();
        checkVisible(training);
        checkVisible(validation);
        return new StoredData(
                target.toString(),
                new StoredRows(columns, training),
                new StoredRows(columns, validation),
                isTemporary);
    }

    private static void checkLengths(List<Column> columns, List<Column> others) {
        for (int i = 0; i < columns.size(); i++) {
            if (columns.get(i).length() != others.get(i).length()) {
                throw new ConfigurationException(
                        "column '%s' has %d elements in some rows, and %d in others. Give all rows the same length."
                                .formatted(
                                        columns.get(i).name(),
                                        columns.get(i).length(),
                                        others.get(i).length()));
            }
        }
    }

    /// A local folder is another one on each machine.
    private void checkVisible(List<RowGroup> groups) throws IOException {
        if (!"file".equals(folder.toUri().getScheme())) {
            return;
        }
        for (RowGroup group : groups) {
            if (!files.exists(new Path(group.file()))) {
                throw new ConfigurationException(
                        """
                        an executor has written %s, and the driver does not see it: the folder of the store is \
                        not the same on all machines. Use a folder that all machines share, or HDFS."""
                                .formatted(group.file()));
            }
        }
    }

    /// Uses Parquet files that exist, where they are.
    ///
    /// @param path a file, or a folder with files in it and in folders below
    /// @param columns those that ranks will read
    /// @throws ConfigurationException if there are no rows, or a column is missing or has a type that
    ///     cannot be trained with
    public StoredData use(String path, List<ColumnRequest> columns) {
        StoredRows training = rows(path, columns);
        return new StoredData(path, training, new StoredRows(training.columns(), List.of()), false);
    }

    /// Uses Parquet files that exist, and others to validate with.
    ///
    /// @throws ConfigurationException if there are no rows, or a column is missing or has a type that
    ///     cannot be trained with
    public StoredData use(String training, String validation, List<ColumnRequest> columns) {
        StoredRows first = rows(training, columns);
        StoredRows second = rows(validation, columns);
        checkLengths(first.columns(), second.columns());
        return new StoredData(training, first, second, false);
    }

    private static StoredRows rows(String path, List<ColumnRequest> columns) {
        RowGroupFiles reader = new RowGroupFiles();
        try {
            List<RowGroup> groups = new ArrayList<>();
            for (List<RowGroup> ofFile : groups(reader, parquetFiles(path))) {
                groups.addAll(ofFile);
            }
            if (groups.isEmpty()) {
                throw new ConfigurationException(
                        "%s has no rows in Parquet files: there is nothing to train with."
                                .formatted(path));
            }
            return new StoredRows(reader.columns(groups.getFirst(), columns), groups);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read " + path, e);
        }
    }

    /// The files by name. Hidden ones, as of Spark's commits, are left out.
    private static List<String> parquetFiles(String path) throws IOException {
        Path root = new Path(path);
        FileSystem files = root.getFileSystem(RowGroupFiles.configuration());
        FileStatus status = files.getFileStatus(root);
        if (status.isFile()) {
            return List.of(status.getPath().toString());
        }
        int prefix = status.getPath().toString().length();
        List<String> found = new ArrayList<>();
        RemoteIterator<LocatedFileStatus> all = files.listFiles(root, true);
        while (all.hasNext()) {
            LocatedFileStatus file = all.next();
            String below = file.getPath().toString().substring(prefix);
            boolean isHidden = below.contains("/_") || below.contains("/.");
            if (!isHidden && file.getLen() > 0) {
                found.add(file.getPath().toString());
            }
        }
        found.sort(Comparator.naturalOrder());
        return found;
    }

    private static List<List<RowGroup>> groups(RowGroupFiles reader, List<String> paths)
            throws IOException {
        List<List<RowGroup>> groups = new ArrayList<>();
        try (ExecutorService readers = Executors.newFixedThreadPool(FOOTER_READERS)) {
            List<Future<List<RowGroup>>> pending = new ArrayList<>();
            for (String path : paths) {
                pending.add(readers.submit(() -> groups(reader, path)));
            }
            for (Future<List<RowGroup>> each : pending) {
                groups.add(each.get());
            }
        } catch (ExecutionException e) {
            Throwable cause = e.getCause() == null ? e : e.getCause();
            throw new ConfigurationException(
                    "a file cannot be read as Parquet: " + cause.getMessage(), cause);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
        return groups;
    }

    private static List<RowGroup> groups(RowGroupFiles reader, String file) throws IOException {
        List<RowGroup> groups = new ArrayList<>();
        int index = 0;
        for (BlockMetaData block : reader.footer(file).getBlocks()) {
            if (block.getRowCount() > 0) {
                groups.add(new RowGroup(file, index, block.getRowCount()));
            }
            index++;
        }
        return groups;
    }

    /// Deletes what [#write] has written. Does nothing with files that have a name, or that were there
    /// before.
    public void remove(StoredData data) {
        if (data.isTemporary()) {
            delete(new Path(data.folder()));
        }
    }

    /// Deletes data that were kept under this name.
    public void remove(String name) {
        delete(new Path(folder, name));
    }

    private void delete(Path path) {
        if (!path.getParent().equals(folder)) {
            throw new IllegalArgumentException("%s is not in the store %s".formatted(path, folder));
        }
        try {
            files.delete(path, true);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot delete " + path, e);
        }
    }
}
