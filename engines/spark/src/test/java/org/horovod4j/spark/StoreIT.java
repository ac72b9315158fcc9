package org.horovod4j.spark;

import static org.apache.spark.sql.functions.array;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.expr;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.apache.spark.ml.linalg.Vector;
import org.apache.spark.ml.linalg.VectorUDT;
import org.apache.spark.ml.linalg.Vectors;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.horovod4j.ConfigurationException;
import org.horovod4j.DataType;
import org.horovod4j.data.LastBatch;
import org.horovod4j.data.Sampling;
import org.horovod4j.spark.data.Column;
import org.horovod4j.spark.data.ColumnRequest;
import org.horovod4j.spark.data.DatasetBatches;
import org.horovod4j.spark.data.EpochBatches;
import org.horovod4j.spark.data.RankReader;
import org.horovod4j.spark.data.ReadOptions;
import org.horovod4j.spark.data.RowBatch;
import org.horovod4j.spark.data.Store;
import org.horovod4j.spark.data.StoredData;
import org.horovod4j.spark.data.StoredRows;
import org.horovod4j.spark.data.WriteOptions;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.LongStream;
import java.util.stream.Stream;

/// Data that executors write and ranks read.
@Timeout(120)
class StoreIT {
    private static final List<ColumnRequest> ID = List.of(ColumnRequest.of("id"));

    private static SparkSession spark;
    @TempDir private static Path folder;

    @BeforeAll
    static void start() throws Exception {
        spark = TestCluster.start("local-cluster[2,1,1024]", Map.of());
    }

    @AfterAll
    static void stop() {
        spark.stop();
    }

    private static Store store() {
        return Store.at(folder.resolve("store").toUri().toString());
    }

    private static List<Path> stored() throws IOException {
        Path store = folder.resolve("store");
        if (!Files.exists(store)) {
            return List.of();
        }
        try (Stream<Path> paths = Files.list(store)) {
            return paths.toList();
        }
    }

    /// Reads all rows in this JVM.
    private static List<RowBatch> read(StoredRows rows, ReadOptions options, int size) {
        List<RowBatch> all = new ArrayList<>();
        for (int rank = 0; rank < size; rank++) {
            try (RankReader reader = new RankReader(rows, options, rank, size);
                    EpochBatches batches = reader.epoch(0)) {
                batches.forEachRemaining(all::add);
            }
        }
        return all;
    }

    private static long[] ids(StoredRows rows) {
        ReadOptions options =
                ReadOptions.batches(64)
                        .withSampling(Sampling.inOrder().withLastBatch(LastBatch.UNEVEN));
        return read(rows, options, 1).stream()
                .flatMapToLong(batch -> Arrays.stream(batch.longs("id")))
                .toArray();
    }

    private static long[] sorted(long... values) {
        return Arrays.stream(values).sorted().toArray();
    }

    @Test
    void ranksInExecutorsAndProcessesReadEveryRowOnce() {
        // Empty partitions, and one with most rows.
        Dataset<Row> skewed =
                spark.range(0, 1003, 1, 7)
                        .filter("id % 1003 > 700 or id < 300")
                        .union(spark.range(2000, 2001, 1, 3))
                        .toDF("id")
                        .withColumn("x", col("id").cast("float"));
        Store store = store();
        StoredData data =
                store.write(
                        skewed,
                        List.of(ColumnRequest.of("id"), ColumnRequest.of("x")),
                        WriteOptions.forRanks(2));
        ReadOptions options =
                ReadOptions.batches(32)
                        .withSampling(Sampling.shuffled(3).withLastBatch(LastBatch.UNEVEN));
        long[] expected =
                LongStream.concat(
                                LongStream.concat(
                                        LongStream.range(0, 300), LongStream.range(701, 1003)),
                                LongStream.of(2000))
                        .toArray();

        for (HvdSpark job :
                List.of(HvdSpark.ranks(spark, 2), HvdSpark.ranks(spark, 2).processes())) {
            List<long[]> byRank =
                    job.run(
                            comm -> {
                                List<Long> ids = new ArrayList<>();
                                try (RankReader reader = data.training().reader(options, comm);
                                        EpochBatches batches = reader.epoch(1)) {
                                    while (batches.hasNext()) {
                                        RowBatch batch = batches.next();
                                        for (int i = 0; i < batch.rows(); i++) {
                                            if (batch.floats("x")[i] == batch.longs("id")[i]) {
                                                ids.add(batch.longs("id")[i]);
                                            }
                                        }
                                    }
                                }
                                return ids.stream().mapToLong(Long::longValue).toArray();
                            });

            assertThat(byRank.stream().mapToInt(ids -> ids.length)).containsExactly(302, 301);
            assertThat(byRank.stream().flatMapToLong(Arrays::stream).sorted().toArray())
                    .isEqualTo(expected);
        }
        store.remove(data);
        assertThat(Path.of(java.net.URI.create(data.folder()))).doesNotExist();
    }

    @Test
    void validationRowsAreSetAsideAtRandomOrByAColumn() {
        Store store = store();
        Dataset<Row> rows = spark.range(0, 2000, 1, 5).toDF("id");
        StoredData random =
                store.write(rows, ID, WriteOptions.forRanks(2).withValidation(0.2).withSeed(5));
        StoredData again =
                store.write(
                        rows.repartition(3),
                        ID,
                        WriteOptions.forRanks(3).withValidation(0.2).withSeed(5));
        StoredData other =
                store.write(rows, ID, WriteOptions.forRanks(2).withValidation(0.2).withSeed(6));
        StoredData chosen =
                store.write(
                        rows.withColumn("test", expr("cast(id % 10 = 3 as int)")),
                        ID,
                        WriteOptions.forRanks(2).withValidationColumn("test"));

        Set<Long> both = new HashSet<>();
        LongStream.concat(
                        Arrays.stream(ids(random.training())),
                        Arrays.stream(ids(random.validation())))
                .forEach(id -> assertThat(both.add(id)).isTrue());
        assertThat(both).hasSize(2000);
        assertThat(random.validation().rows()).isBetween(300L, 500L);
        assertThat(sorted(ids(again.validation())))
                .as("for another number of ranks and partitions")
                .isEqualTo(sorted(ids(random.validation())));
        assertThat(sorted(ids(other.validation()))).isNotEqualTo(sorted(ids(random.validation())));
        assertThat(chosen.columns().stream().map(Column::name)).containsExactly("id");
        assertThat(sorted(ids(chosen.validation())))
                .isEqualTo(LongStream.range(0, 200).map(i -> 10 * i + 3).toArray());
        assertThat(chosen.training().rows()).isEqualTo(1800);
        List.of(random, again, other, chosen).forEach(store::remove);
    }

    @Test
    void sameRowsGiveTheSameFiles() {
        Store store = store();
        Dataset<Row> rows = spark.range(0, 500, 1, 5).toDF("id");
        WriteOptions options = WriteOptions.forRanks(3).withSeed(1);
        StoredData first = store.write(rows, ID, options);
        StoredData second = store.write(rows, ID, options);
        StoredData other = store.write(rows, ID, options.withSeed(2));

        assertThat(ids(second.training())).isEqualTo(ids(first.training()));
        assertThat(ids(other.training())).isNotEqualTo(ids(first.training()));
        assertThat(ids(first.training()))
                .as("shuffled")
                .isNotEqualTo(sorted(ids(first.training())));
        List.of(first, second, other).forEach(store::remove);
    }

    @Test
    void vectorsArraysAndAllNumbersAreWritten() {
        StructType schema =
                new StructType()
                        .add("v", new VectorUDT())
                        .add("a", DataTypes.createArrayType(DataTypes.FloatType))
                        .add("b", DataTypes.BinaryType)
                        .add("flag", DataTypes.BooleanType)
                        .add("label", DataTypes.DoubleType);
        List<Row> rows = new ArrayList<>();
        for (int i = 0; i < 9; i++) {
            Vector vector =
                    i % 2 == 0
                            ? Vectors.dense(i, 0, i + 0.5)
                            : Vectors.sparse(3, new int[] {0, 2}, new double[] {i, i + 0.5});
            rows.add(
                    RowFactory.create(
                            vector,
                            List.of((float) i, i + 0.25f),
                            new byte[] {(byte) i, (byte) (250 + i)},
                            i % 3 == 0,
                            (double) i));
        }
        Dataset<Row> dataset = spark.createDataFrame(rows, schema).repartition(4);
        List<ColumnRequest> columns =
                List.of(
                        ColumnRequest.of("v", DataType.FLOAT32),
                        ColumnRequest.of("a"),
                        ColumnRequest.of("b"),
                        ColumnRequest.of("flag"),
                        ColumnRequest.of("label", DataType.INT64));
        Store store = store();
        StoredData written = store.write(dataset, columns, WriteOptions.forRanks(2));
        Path table = folder.resolve("vectors");
        dataset.write().parquet(table.toUri().toString());
        StoredData inPlace = store.use(table.toUri().toString(), columns);
        List<RowBatch> direct = DatasetBatches.of(dataset, columns, 2).collect();
        List<RowBatch> fromFiles =
                DatasetBatches.of(spark.read().parquet(table.toUri().toString()), columns, 4)
                        .collect();

        assertThat(inPlace.columns()).isEqualTo(written.columns());
        ReadOptions options =
                ReadOptions.batches(2)
                        .withSampling(Sampling.inOrder().withLastBatch(LastBatch.UNEVEN));
        for (List<RowBatch> batches :
                List.of(
                        read(written.training(), options, 2),
                        read(inPlace.training(), options, 2),
                        direct,
                        fromFiles)) {
            Set<Long> labels = new HashSet<>();
            for (RowBatch batch : batches) {
                assertThat(batch.shape("v")).containsExactly(batch.rows(), 3);
                for (int row = 0; row < batch.rows(); row++) {
                    int i = (int) batch.longs("label")[row];
                    labels.add((long) i);
                    assertThat(Arrays.copyOfRange(batch.floats("v"), 3 * row, 3 * row + 3))
                            .containsExactly(i, 0, i + 0.5f);
                    assertThat(Arrays.copyOfRange(batch.floats("a"), 2 * row, 2 * row + 2))
                            .containsExactly(i, i + 0.25f);
                    assertThat(Arrays.copyOfRange(batch.bytes("b"), 2 * row, 2 * row + 2))
                            .containsExactly(i, 250 + i);
                    assertThat(batch.bytes("flag")[row]).isEqualTo((byte) (i % 3 == 0 ? 1 : 0));
                }
            }
            assertThat(batches.stream().mapToInt(RowBatch::rows).sum()).isEqualTo(9);
            assertThat(labels).hasSize(9);
        }
        store.remove(written);
        store.remove(inPlace);
        assertThat(table).isDirectoryContaining("glob:**.parquet");
    }

    @Test
    void badRowsAreNamedAndLeaveNoFiles() throws Exception {
        Store store = store();
        Dataset<Row> rows = spark.range(0, 100, 1, 4).toDF("id");
        WriteOptions options = WriteOptions.forRanks(2);
        List<Path> before = stored();

        Dataset<Row> nulls = rows.withColumn("label", expr("if(id = 42, null, cast(id as float))"));
        assertThatThrownBy(
                        () ->
                                store.write(
                                        nulls,
                                        List.of(ColumnRequest.of("id"), ColumnRequest.of("label")),
                                        options))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("column 'label' (float32) has null in row ")
                .hasMessageContaining("(id=42, label=null)");
        assertThatThrownBy(() -> store.write(nulls, ID, options.withValidationColumn("label")))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("column 'label' (bool) has null in row ")
                .hasMessageContaining("(id=42, label=null)");
        Dataset<Row> ragged =
                rows.withColumn("x", expr("if(id = 42, array(1, 2, 3), array(1, 2))"));
        assertThatThrownBy(() -> store.write(ragged, List.of(ColumnRequest.of("x")), options))
                .hasMessageContaining("column 'x' (int32[")
                .hasMessageContaining("elements, but ");
        Dataset<Row> element = rows.withColumn("x", array(col("id"), expr("nullif(id, 42)")));
        assertThatThrownBy(() -> store.write(element, List.of(ColumnRequest.of("x")), options))
                .hasMessageContaining("column 'x' (int64[2]) has null in element 1 in row ");
        assertThatThrownBy(() -> store.write(rows, List.of(ColumnRequest.of("label")), options))
                .hasMessage("the Dataset has no column 'label'. It has: id.");
        assertThatThrownBy(
                        () ->
                                store.write(
                                        rows.withColumn("s", col("id").cast("string")),
                                        List.of(ColumnRequest.of("s")),
                                        options))
                .hasMessageContaining("column 's' has type string");
        assertThatThrownBy(() -> store.write(rows.filter("id < 0"), ID, options))
                .hasMessageContaining("the Dataset has no rows");
        assertThat(stored()).containsExactlyInAnyOrderElementsOf(before);
    }

    @Test
    void namedDataAreUsedAgain() throws Exception {
        Store store = store();
        Dataset<Row> rows = spark.range(0, 100, 1, 4).toDF("id");
        WriteOptions options = WriteOptions.forRanks(2).withValidation(0.1).withName("kept");
        StoredData first = store.write(rows, ID, options);
        StoredData second = store.write(rows.filter("id < 50"), ID, options);
        store.remove(second);

        assertThat(second).isEqualTo(first);
        assertThat(ids(second.training())).hasSize((int) first.training().rows());
        assertThatThrownBy(() -> store.write(rows, ID, options.withValidation(0.2)))
                .isInstanceOf(ConfigurationException.class)
                .hasMessageContaining("has data with other columns or options")
                .hasMessageContaining("columns [id], validation 0.1, seed 0");
        store.remove("kept");
        assertThat(store.write(rows.filter("id < 50"), ID, options).training().rows())
                .isLessThanOrEqualTo(50);
        store.remove("kept");
    }

    @Test
    void partitionsAreFedAsBatches() {
        Dataset<Row> rows = spark.range(0, 1001, 1, 2).toDF("id");
        String table = folder.resolve("partitions").toUri().toString();
        rows.write().parquet(table);
        Dataset<Row> columnar = spark.read().parquet(table);

        for (Dataset<Row> dataset : List.of(rows, columnar)) {
            List<long[]> sums =
                    HvdSpark.ranks(spark, 2)
                            .run(
                                    DatasetBatches.of(dataset, ID, 64),
                                    (comm, own) -> {
                                        long[] sumAndRows = new long[2];
                                        own.forEachRemaining(
                                                batch -> {
                                                    sumAndRows[0] +=
                                                            Arrays.stream(batch.longs("id")).sum();
                                                    sumAndRows[1] += batch.rows();
                                                });
                                        return sumAndRows;
                                    });
            assertThat(sums.stream().mapToLong(it -> it[0]).sum()).isEqualTo(500 * 1001);
            assertThat(sums.stream().mapToLong(it -> it[1]).sum()).isEqualTo(1001);
        }
        assertThatThrownBy(
                        () ->
                                DatasetBatches.of(
                                                rows.withColumn("x", expr("nullif(id, 700)")),
                                                List.of(ColumnRequest.of("x")),
                                                64)
                                        .count())
                .hasMessageContaining(
                        "column 'x' (int64) has null in row 200 of partition 1 (x=null)");
    }
}
