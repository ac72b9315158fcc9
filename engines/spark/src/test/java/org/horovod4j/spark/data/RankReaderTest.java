package org.horovod4j.spark.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.horovod4j.DataType;
import org.horovod4j.data.LastBatch;
import org.horovod4j.data.Sampling;
import org.horovod4j.spark.data.StoredRows.RowGroup;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

@Timeout(60)
class RankReaderTest {
    private static final Sampling SHUFFLED = Sampling.shuffled(7);

    @TempDir Path folder;

    /// Files with these numbers of rows, in row groups of at most 10. Row number `n` has id `n` and
    /// the vector `n, n + 0.5`.
    private StoredRows rows(int... perFile) throws IOException {
        List<Column> columns =
                List.of(
                        new Column("id", DataType.INT64, 1, false),
                        new Column("x", DataType.FLOAT32, 2, true));
        List<RowGroup> groups = new ArrayList<>();
        long next = 0;
        for (int file = 0; file < perFile.length; file++) {
            long first = next;
            int count = perFile[file];
            long[] ids = LongStream.range(first, first + count).toArray();
            float[] x = new float[2 * count];
            for (int i = 0; i < count; i++) {
                x[2 * i] = first + i;
                x[2 * i + 1] = first + i + 0.5f;
            }
            groups.addAll(write("f%02d".formatted(file), columns, 10, count, ids, x));
            next += count;
        }
        return new StoredRows(columns, groups);
    }

    private List<RowGroup> write(
            String file, List<Column> columns, int perGroup, int rows, Object... arrays)
            throws IOException {
        PartWriter writer =
                new PartWriter(
                        new org.apache.hadoop.fs.Path(folder.resolve(file).toUri()),
                        new Configuration(),
                        columns,
                        CompressionCodecName.SNAPPY,
                        perGroup);
        try (writer) {
            RowBatch batch = new RowBatch(columns, arrays, rows);
            for (int row = 0; row < rows; row++) {
                writer.write(batch, row);
            }
        }
        return writer.rowGroups();
    }

    /// Files of this machine, under a scheme of its own, with the users who opened some.
    public static final class UserFiles extends RawLocalFileSystem {
        private static final Set<String> USERS = ConcurrentHashMap.newKeySet();

        @Override
        public String getScheme() {
            return "userfile";
        }

        @Override
        public URI getUri() {
            return URI.create("userfile:///");
        }

        @Override
        public FSDataInputStream open(org.apache.hadoop.fs.Path file, int bufferSize)
                throws IOException {
            USERS.add(UserGroupInformation.getCurrentUser().getUserName());
            return super.open(file, bufferSize);
        }
    }

    @Test
    void theThreadThatReadsAheadIsTheSameUser() throws Exception {
        StoredRows rows = rows(25);
        StoredRows others =
                new StoredRows(
                        rows.columns(),
                        rows.rowGroups().stream()
                                .map(
                                        it ->
                                                new RowGroup(
                                                        it.file().replace("file:", "userfile:"),
                                                        it.index(),
                                                        it.rows()))
                                .toList());
        PrivilegedExceptionAction<List<RowBatch>> read =
                () -> epoch(others, ReadOptions.batches(5).withCache(0), 0, 1, 0);

        List<RowBatch> batches = UserGroupInformation.createRemoteUser("somebody").doAs(read);

        assertThat(batches).hasSize(5);
        assertThat(UserFiles.USERS).containsExactly("somebody");
    }

    private static List<RowBatch> epoch(
            StoredRows rows, ReadOptions options, int rank, int size, int epoch) {
        try (RankReader reader = new RankReader(rows, options, rank, size)) {
            List<RowBatch> batches = all(reader.epoch(epoch));
            assertThat(batches).hasSize(reader.stepsPerEpoch());
            return batches;
        }
    }

    private static List<RowBatch> all(EpochBatches epoch) {
        List<RowBatch> batches = new ArrayList<>();
        try (epoch) {
            epoch.forEachRemaining(batches::add);
        }
        return batches;
    }

    private static List<Long> ids(List<RowBatch> batches) {
        List<Long> ids = new ArrayList<>();
        for (RowBatch batch : batches) {
            long[] own = batch.longs("id");
            float[] x = batch.floats("x");
            assertThat(own).hasSize(batch.rows());
            for (int i = 0; i < own.length; i++) {
                assertThat(x[2 * i]).isEqualTo((float) own[i]);
                assertThat(x[2 * i + 1]).isEqualTo(own[i] + 0.5f);
                ids.add(own[i]);
            }
        }
        return ids;
    }

    private static Long[] range(long end) {
        return LongStream.range(0, end).boxed().toArray(Long[]::new);
    }

    @ParameterizedTest(name = "{0} ranks, batches of {1}, cache {2}")
    @CsvSource({"1, 4, 0", "2, 16, 0", "3, 7, 100000", "5, 1, 0", "7, 100, 100000"})
    void everyRowIsReadOnceByOneRank(int size, int batchSize, long cache) throws Exception {
        StoredRows rows = rows(1, 0, 53, 10, 9, 0, 30);
        ReadOptions options =
                ReadOptions.batches(batchSize)
                        .withSampling(SHUFFLED.withLastBatch(LastBatch.UNEVEN))
                        .withShuffleRows(15)
                        .withCache(cache);
        List<Long> all = new ArrayList<>();
        for (int rank = 0; rank < size; rank++) {
            List<RowBatch> batches = epoch(rows, options, rank, size, 3);
            for (RowBatch batch : batches.subList(0, batches.size() - 1)) {
                assertThat(batch.rows()).isEqualTo(batchSize);
            }
            all.addAll(ids(batches));
        }

        assertThat(all).hasSize(103).containsExactlyInAnyOrder(range(103));
    }

    @ParameterizedTest(name = "{0}: {1} rows on {2} ranks")
    @CsvSource({
        "PAD, 103, 4",
        "PAD, 2, 5",
        "PAD, 12, 4",
        "KEEP, 103, 4",
        "KEEP, 9, 4",
        "DROP, 103, 4"
    })
    void allRanksHaveAsManyBatches(LastBatch lastBatch, int count, int size) throws Exception {
        StoredRows rows = rows(count);
        int batchSize = 8;
        ReadOptions options =
                ReadOptions.batches(batchSize)
                        .withSampling(SHUFFLED.withLastBatch(lastBatch))
                        .withShuffleRows(12);
        List<List<Integer>> sizes = new ArrayList<>();
        List<Long> all = new ArrayList<>();
        for (int rank = 0; rank < size; rank++) {
            List<RowBatch> batches = epoch(rows, options, rank, size, 0);
            sizes.add(batches.stream().map(RowBatch::rows).toList());
            all.addAll(ids(batches));
        }

        assertThat(sizes.stream().map(List::size).distinct()).hasSize(1);
        List<Long> distinct = all.stream().distinct().toList();
        switch (lastBatch) {
            case PAD -> {
                assertThat(sizes.stream().distinct()).hasSize(1);
                assertThat(distinct).containsExactlyInAnyOrder(range(count));
                assertThat(all).hasSize(size * Math.ceilDiv(count, size));
            }
            case KEEP -> {
                assertThat(all).isEqualTo(distinct).hasSizeGreaterThan(count - size);
            }
            case DROP -> {
                assertThat(all).isEqualTo(distinct);
                assertThat(sizes).allSatisfy(own -> assertThat(own).containsOnly(batchSize));
            }
            case UNEVEN -> throw new IllegalArgumentException("ranks differ");
        }
    }

    @Test
    void ordersFollowFromSeedAndEpoch() throws Exception {
        StoredRows rows = rows(40, 35);
        ReadOptions options = ReadOptions.batches(16).withSampling(SHUFFLED).withShuffleRows(20);
        List<Long> first = ids(epoch(rows, options, 0, 2, 0));

        assertThat(ids(epoch(rows, options, 0, 2, 0))).isEqualTo(first);
        assertThat(ids(epoch(rows, options.withCache(0), 0, 2, 0)))
                .as("without a cache")
                .isEqualTo(first);
        assertThat(ids(epoch(rows, options, 0, 2, 1)))
                .as("another epoch")
                .isNotEqualTo(first)
                .containsExactlyInAnyOrderElementsOf(first);
        assertThat(ids(epoch(rows, options.withSampling(Sampling.shuffled(8)), 0, 2, 0)))
                .as("another seed")
                .isNotEqualTo(first);
        assertThat(ids(epoch(rows, options.withSampling(Sampling.inOrder()), 0, 2, 5)))
                .as("in order")
                .containsExactly(range(38));
    }

    @Test
    void rowsOfSeveralRowGroupsAreMixed() throws Exception {
        StoredRows rows = rows(100);
        ReadOptions options = ReadOptions.batches(10).withSampling(SHUFFLED).withShuffleRows(50);

        List<Long> first = ids(epoch(rows, options, 0, 1, 0)).subList(0, 10);

        assertThat(first.stream().map(id -> id / 10).distinct().count()).isGreaterThan(2);
    }

    @Test
    void secondEpochUsesTheCache() throws Exception {
        StoredRows rows = rows(30);
        ReadOptions options = ReadOptions.batches(8).withSampling(SHUFFLED);
        try (RankReader cached = new RankReader(rows, options, 0, 1);
                RankReader uncached = new RankReader(rows, options.withCache(0), 0, 1)) {
            all(cached.epoch(0));
            all(uncached.epoch(0));
            Files.delete(folder.resolve("f00"));

            assertThat(ids(all(cached.epoch(1)))).containsExactlyInAnyOrder(range(30));
            assertThatThrownBy(() -> all(uncached.epoch(1)))
                    .isInstanceOf(IllegalStateException.class)
                    .hasStackTraceContaining("f00");
        }
    }

    @Test
    void rankReadsOnlyTheFilesOfItsRows() throws Exception {
        StoredRows rows = rows(20, 20);
        Files.delete(folder.resolve("f01"));

        assertThat(ids(epoch(rows, ReadOptions.batches(8), 0, 2, 0))).containsExactly(range(20));
    }

    @ParameterizedTest
    @CsvSource({"0", "1", "3", "5", "6"})
    void epochResumesAtAnyStep(int step) throws Exception {
        StoredRows rows = rows(44, 3);
        ReadOptions options =
                ReadOptions.batches(8).withSampling(SHUFFLED).withShuffleRows(10).withCache(0);
        try (RankReader reader = new RankReader(rows, options, 0, 1)) {
            List<Long> whole = ids(all(reader.epoch(2)));

            assertThat(ids(all(reader.epoch(2, step))))
                    .isEqualTo(whole.subList(Math.min(8 * step, 47), 47));
        }
    }

    @Test
    void batchesCanBeClosedEarly() throws Exception {
        StoredRows rows = rows(100, 100);
        ReadOptions options = ReadOptions.batches(1).withCache(0).withPrefetch(1);
        try (RankReader reader = new RankReader(rows, options, 0, 1)) {
            for (int epoch = 0; epoch < 20; epoch++) {
                try (EpochBatches batches = reader.epoch(epoch)) {
                    assertThat(batches.next().longs("id")).containsExactly(0);
                }
            }
        }
    }

    @Test
    void fewerRowsThanRanksAreRejectedOnAllRanks() throws Exception {
        StoredRows rows = rows(2);

        for (int rank = 0; rank < 3; rank++) {
            int own = rank;
            assertThatThrownBy(() -> new RankReader(rows, ReadOptions.batches(4), own, 3))
                    .hasMessageContaining("2 samples are too few for 3 ranks");
        }
    }

    @Test
    void moreRowsThanAnArrayHasAreDividedAmongRanks() {
        StoredRows rows =
                new StoredRows(
                        List.of(new Column("id", DataType.INT64, 1, false)),
                        IntStream.range(0, 5000)
                                .mapToObj(i -> new RowGroup("f", i, 1_000_000))
                                .toList());

        try (RankReader reader = new RankReader(rows, ReadOptions.batches(64), 3, 4)) {
            assertThat(reader.rowsPerEpoch()).isEqualTo(1_250_000_000);
            assertThat(reader.stepsPerEpoch()).isEqualTo(1_250_000_000 / 64);
        }
        assertThatThrownBy(() -> new RankReader(rows, ReadOptions.batches(64), 0, 2))
                .hasMessageContaining("5000000000 rows are too many for 2 ranks");
    }

    @Test
    void allTypesKeepTheirValues() throws Exception {
        byte[] bytes = {1, 0, 1, -128, 127, 5};
        short[] shorts = {1, -2, 3, Short.MIN_VALUE, 5, 6};
        int[] ints = {1, -2, 3, Integer.MIN_VALUE, 5, 6};
        long[] longs = {1, -2, 3, Long.MIN_VALUE, 5, 6};
        float[] floats = {1, -2, 3, Float.MIN_VALUE, Float.NaN, 6};
        double[] doubles = {1, -2, 3, Double.MIN_VALUE, Double.NaN, 6};
        byte[] booleans = {1, 0, 1, 1, 0, 0};
        List<Object> arrays = List.of(bytes, bytes, shorts, ints, longs, floats, doubles, booleans);
        List<DataType> types =
                List.of(
                        DataType.INT8,
                        DataType.UINT8,
                        DataType.INT16,
                        DataType.INT32,
                        DataType.INT64,
                        DataType.FLOAT32,
                        DataType.FLOAT64,
                        DataType.BOOL);
        List<Column> scalars =
                IntStream.range(0, 8)
                        .mapToObj(i -> new Column("c" + i, types.get(i), 1, false))
                        .toList();
        List<Column> vectors =
                IntStream.range(0, 8)
                        .mapToObj(i -> new Column("c" + i, types.get(i), 3, true))
                        .toList();
        StoredRows single =
                new StoredRows(scalars, write("scalars", scalars, 4, 6, arrays.toArray()));
        StoredRows triple =
                new StoredRows(vectors, write("vectors", vectors, 4, 2, arrays.toArray()));

        for (StoredRows rows : List.of(single, triple)) {
            RowBatch batch = epoch(rows, ReadOptions.batches(6), 0, 1, 0).getFirst();
            for (int i = 0; i < 8; i++) {
                assertThat(batch.values("c" + i)).isEqualTo(arrays.get(i));
            }
        }
        assertThat(epoch(triple, ReadOptions.batches(6), 0, 1, 0).getFirst().shape("c3"))
                .containsExactly(2, 3);
    }

    @Test
    void wrongTypeAndUnknownColumnAreExplained() throws Exception {
        RowBatch batch = epoch(rows(3), ReadOptions.batches(3), 0, 1, 0).getFirst();

        assertThatThrownBy(() -> batch.doubles("x"))
                .hasMessageContaining("column 'x' has type float32, and not double");
        assertThatThrownBy(() -> batch.values("y"))
                .hasMessage("the batch has no column 'y'. It has: id, x.");
        assertThat(Arrays.asList(batch.columns().get(1).name())).containsExactly("x");
    }
}
