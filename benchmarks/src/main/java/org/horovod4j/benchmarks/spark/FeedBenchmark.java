package org.horovod4j.benchmarks.spark;

import static org.apache.spark.sql.functions.array;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.rand;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.horovod4j.Communicator;
import org.horovod4j.benchmarks.report.Percentiles;
import org.horovod4j.benchmarks.report.Table;
import org.horovod4j.data.LastBatch;
import org.horovod4j.data.Sampling;
import org.horovod4j.spark.HvdSpark;
import org.horovod4j.spark.PartitionFunction;
import org.horovod4j.spark.data.ColumnRequest;
import org.horovod4j.spark.data.DatasetBatches;
import org.horovod4j.spark.data.EpochBatches;
import org.horovod4j.spark.data.RankReader;
import org.horovod4j.spark.data.ReadOptions;
import org.horovod4j.spark.data.RowBatch;
import org.horovod4j.spark.data.Store;
import org.horovod4j.spark.data.StoredData;
import org.horovod4j.spark.data.WriteOptions;
import org.jspecify.annotations.Nullable;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import java.util.stream.IntStream;

/// The time in which ranks get the values of a `Dataset` as `float` arrays, by several variants that take
/// turns. `spark-feed.sh` starts it.
///
/// The times are those of the slowest rank, from a barrier before the first row. The start of a
/// Spark job is not part of them.
public final class FeedBenchmark {
    private static final int RANKS = 2;
    private static final int COLUMNS = 32;
    private static final int BATCH = 1024;

    /// Rounds that are not counted: the JIT compiler needs them.
    private static final int WARM_UP = 2;

    private final SparkSession spark;
    private final String folder;
    private final long rows;

    private FeedBenchmark(SparkSession spark, String folder, long rows) {
        this.spark = spark;
        this.folder = folder;
        this.rows = rows;
    }

    /// What a rank has measured.
    ///
    /// @param sum of the first column, which shows that all rows came
    record Measurement(double seconds, double sum) implements Serializable {}

    /// A variant of getting the values.
    ///
    /// @param baseline the variant that it is compared with; null for itself
    /// @param seconds of each round
    @SuppressWarnings("ArrayRecordComponent") // never compared
    private record Variant(
            String name,
            @Nullable Variant baseline,
            double[] seconds,
            Supplier<List<Measurement>> run) {}

    /// Measures, and prints a table.
    ///
    /// @param arguments a folder for the data, the number of rows, of rounds, and the seed of the order
    public static void main(String[] arguments) {
        SparkSession spark = SparkSession.builder().getOrCreate();
        new FeedBenchmark(spark, arguments[0], Long.parseLong(arguments[1]))
                .measure(Integer.parseInt(arguments[2]), new Random(Long.parseLong(arguments[3])));
        spark.stop();
    }

    private void measure(int rounds, Random random) {
        String table = folder + "/table";
        spark.range(0, rows, 1, RANKS).select(columns()).write().mode("overwrite").parquet(table);
        Dataset<Row> dataset = spark.read().parquet(table);
        // All rows, which Spark has as rows then, and not as columns.
        Dataset<Row> filtered = dataset.filter("c0 >= 0");
        Store store = Store.at(folder + "/store");
        StoredData data =
                store.write(
                        dataset.select(
                                array(
                                                IntStream.range(0, COLUMNS)
                                                        .mapToObj(i -> col("c" + i))
                                                        .toArray(
                                                                org.apache.spark.sql.Column[]::new))
                                        .as("x")),
                        List.of(ColumnRequest.of("x")),
                        WriteOptions.forRanks(RANKS));
        Variant ofRows =
                new Variant("Dataset.rdd()", null, new double[rounds], () -> ofRows(dataset));
        Variant ofFiltered =
                new Variant(
                        "Dataset.rdd(), filtered",
                        null,
                        new double[rounds],
                        () -> ofRows(filtered));
        List<Variant> variants =
                List.of(
                        ofRows,
                        new Variant(
                                "DatasetBatches",
                                ofRows,
                                new double[rounds],
                                () -> ofBatches(dataset)),
                        new Variant(
                                "Store, files",
                                ofRows,
                                new double[rounds],
                                () -> ofStore(data, false)),
                        new Variant(
                                "Store, memory",
                                ofRows,
                                new double[rounds],
                                () -> ofStore(data, true)),
                        ofFiltered,
                        new Variant(
                                "DatasetBatches, filtered",
                                ofFiltered,
                                new double[rounds],
                                () -> ofBatches(filtered)));
        double expected = Double.NaN;
        for (int round = -WARM_UP; round < rounds; round++) {
            List<Variant> order = new ArrayList<>(variants);
            Collections.shuffle(order, random);
            for (Variant variant : order) {
                List<Measurement> measurements = variant.run().get();
                double sum = measurements.stream().mapToDouble(Measurement::sum).sum();
                if (Double.isNaN(expected)) {
                    expected = sum;
                } else if (Math.abs(sum - expected) > 1e-9 * rows) {
                    throw new IllegalStateException(
                            "%s: the sum is %s, and not %s"
                                    .formatted(variant.name(), sum, expected));
                }
                double slowest =
                        measurements.stream().mapToDouble(Measurement::seconds).max().orElseThrow();
                System.out.printf(
                        Locale.ROOT, "round %d: %s %.3f s%n", round, variant.name(), slowest);
                if (round >= 0) {
                    variant.seconds()[round] = slowest;
                }
            }
        }
        System.out.println(table(variants));
        store.remove(data);
    }

    private static org.apache.spark.sql.Column[] columns() {
        return IntStream.range(0, COLUMNS)
                .mapToObj(i -> rand(i).cast("float").as("c" + i))
                .toArray(org.apache.spark.sql.Column[]::new);
    }

    private String table(List<Variant> variants) {
        Table table = new Table(List.of("variant", "s", "million rows/s", "rate / Dataset.rdd()"));
        for (Variant variant : variants) {
            Variant baseline = variant.baseline() == null ? variant : variant.baseline();
            double[] seconds = variant.seconds();
            double[] rates = new double[seconds.length];
            double[] ratios = new double[seconds.length];
            for (int i = 0; i < seconds.length; i++) {
                rates[i] = rows / seconds[i] / 1e6;
                ratios[i] = baseline.seconds()[i] / seconds[i];
            }
            table.add(List.of(variant.name(), text(seconds), text(rates), text(ratios)));
        }
        return table.toMarkdown();
    }

    private static String text(double[] samples) {
        Percentiles percentiles = Percentiles.of(samples);
        return String.format(
                Locale.ROOT,
                "%.2f [%.2f..%.2f]",
                percentiles.median(),
                percentiles.p10(),
                percentiles.p90());
    }

    private List<Measurement> ofRows(Dataset<Row> dataset) {
        PartitionFunction<Row, Measurement> function =
                (comm, own) -> timed(comm, new RowFloats(own), batch -> sum((float[]) batch[0], 1));
        return HvdSpark.ranks(spark, RANKS).run(dataset.toJavaRDD(), function);
    }

    private List<Measurement> ofBatches(Dataset<Row> dataset) {
        List<ColumnRequest> columns =
                IntStream.range(0, COLUMNS).mapToObj(i -> ColumnRequest.of("c" + i)).toList();
        PartitionFunction<RowBatch, Measurement> function =
                (comm, own) -> timed(comm, own, batch -> sum(batch.floats("c0"), 1));
        return HvdSpark.ranks(spark, RANKS)
                .run(DatasetBatches.of(dataset, columns, BATCH), function);
    }

    private List<Measurement> ofStore(StoredData data, boolean isCached) {
        ReadOptions options =
                ReadOptions.batches(BATCH)
                        .withSampling(Sampling.shuffled(1).withLastBatch(LastBatch.UNEVEN))
                        .withCache(isCached ? Long.MAX_VALUE : 0);
        return HvdSpark.ranks(spark, RANKS)
                .run(
                        comm -> {
                            try (RankReader reader = data.training().reader(options, comm)) {
                                if (isCached) {
                                    measurement(comm, reader, 0);
                                }
                                return measurement(comm, reader, 1);
                            }
                        });
    }

    private static Measurement measurement(Communicator comm, RankReader reader, int epoch) {
        comm.barrier();
        try (EpochBatches batches = reader.epoch(epoch)) {
            return timed(comm, batches, batch -> sum(batch.floats("x"), COLUMNS));
        }
    }

    private static <T> Measurement timed(
            Communicator comm, Iterator<T> batches, ToDoubleFunction<T> sum) {
        comm.barrier();
        long start = System.nanoTime();
        double all = 0;
        while (batches.hasNext()) {
            all += sum.applyAsDouble(batches.next());
        }
        return new Measurement((System.nanoTime() - start) / 1e9, all);
    }

    private static double sum(float[] values, int stride) {
        double sum = 0;
        for (int i = 0; i < values.length; i += stride) {
            sum += values[i];
        }
        return sum;
    }

    /// Rows as a program without [DatasetBatches] makes arrays of them.
    private static final class RowFloats implements Iterator<Object[]> {
        private final Iterator<Row> rows;

        RowFloats(Iterator<Row> rows) {
            this.rows = rows;
        }

        @Override
        public boolean hasNext() {
            return rows.hasNext();
        }

        @Override
        public Object[] next() {
            float[][] batch = new float[COLUMNS][BATCH];
            for (int i = 0; i < BATCH && rows.hasNext(); i++) {
                Row row = rows.next();
                for (int column = 0; column < COLUMNS; column++) {
                    batch[column][i] = row.getFloat(column);
                }
            }
            return batch;
        }
    }
}
