package org.horovod4j.spark.data;

import static java.lang.System.Logger.Level.INFO;

import org.horovod4j.data.Prefetcher;
import org.horovod4j.data.Sampling;
import org.horovod4j.data.Shard;
import org.horovod4j.log.Log;
import org.horovod4j.spark.data.StoredRows.RowGroup;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicReferenceArray;

/// Reads one rank's part of stored rows, as batches.
///
/// ```java
/// try (RankReader reader = data.training().reader(ReadOptions.batches(64), comm);
///         EpochBatches batches = reader.epoch(0)) {
///     while (batches.hasNext()) {
///         train(batches.next());
///     }
/// }
/// ```
///
/// The part is a range of consecutive rows, the same in every epoch. The ranges of two ranks differ
/// by at most one row in length. A shuffled epoch has its row groups in random order, and the
/// rows of some consecutive row groups, a window, in random order. So a rank reads only the row groups
/// of its range, and each of them once in an epoch, or once for all if they fit in memory.
///
/// Needs Spark's jars, and no Spark session.
public final class RankReader implements AutoCloseable {
    private static final System.Logger LOGGER = Log.of(RankReader.class);

    private static final long RANK_FACTOR = 0x9e3779b97f4a7c15L;

    private final StoredRows stored;
    private final ReadOptions options;
    private final Shard shard;
    private final List<Part> parts;
    private final Sampling order;
    private final RowGroupFiles files;
    private final boolean isCached;
    private final AtomicReferenceArray<RowBlock> cache;
    private long reserved;

    /// The rows `from` to `to - 1` of a row group.
    record Part(RowGroup rowGroup, int from, int to) {
        int rows() {
            return to - from;
        }
    }

    /// @param rank whose part this reads
    /// @param size how many ranks share the rows
    /// @throws IllegalArgumentException if there are too few or too many rows for this number of
    ///     ranks
    public RankReader(StoredRows stored, ReadOptions options, int rank, int size) {
        this.stored = stored;
        this.options = options;
        this.shard = new Shard(stored.rows(), options.batchSize(), options.sampling(), rank, size);
        if (Math.ceilDiv(stored.rows(), size) > Integer.MAX_VALUE) {
            throw new IllegalArgumentException(
                    "%d rows are too many for %d ranks: each can have %d. Use more ranks."
                            .formatted(stored.rows(), size, Integer.MAX_VALUE));
        }
        this.parts = parts(stored, rank, size);
        this.order =
                new Sampling(
                        options.isShuffled(),
                        new SplittableRandom(options.seed() ^ (rank * RANK_FACTOR)).nextLong(),
                        options.lastBatch());
        this.files = new RowGroupFiles();
        this.isCached = reserveMemory();
        this.cache = new AtomicReferenceArray<>(isCached ? parts.size() : 0);
    }

    /// A rank without rows gets one row of another rank, to pad its batch.
    private static List<Part> parts(StoredRows stored, int rank, int size) {
        long all = stored.rows();
        long first = rank * (all / size) + Math.min(rank, all % size);
        long count = all / size + (rank < all % size ? 1 : 0);
        if (count == 0) {
            first = rank % all;
            count = 1;
        }
        List<Part> parts = new ArrayList<>();
        long start = 0;
        for (RowGroup group : stored.rowGroups()) {
            long from = Math.max(first, start);
            long to = Math.min(first + count, start + group.rows());
            if (from < to) {
                parts.add(new Part(group, (int) (from - start), (int) (to - start)));
            }
            start += group.rows();
        }
        return List.copyOf(parts);
    }

    /// Decides whether the rows are kept, and reserves memory for them.
    private boolean reserveMemory() {
        long perRow = stored.columns().stream().mapToLong(Column::byteSize).sum();
        long needed = parts.stream().mapToLong(Part::rows).sum() * perRow;
        boolean isShared = options.cacheBytes() == ReadOptions.DEFAULT_CACHE;
        long limit = isShared ? CacheBudget.SHARED.limit() : options.cacheBytes();
        boolean fits = isShared ? CacheBudget.SHARED.reserve(needed) : needed <= limit;
        if (fits && isShared) {
            reserved = needed;
        }
        LOGGER.log(
                INFO,
                () ->
                        "rank %d of %d: %d row groups, %d bytes in memory; %s (limit %d bytes)"
                                .formatted(
                                        shard.rank(),
                                        shard.size(),
                                        parts.size(),
                                        needed,
                                        fits
                                                ? "kept after the first epoch"
                                                : "read from the files in each epoch",
                                        limit));
        return fits;
    }

    /// The columns of the batches.
    public List<Column> columns() {
        return stored.columns();
    }

    /// How many batches this rank has in an epoch.
    public int stepsPerEpoch() {
        return shard.stepsPerEpoch();
    }

    /// How many rows this rank has in an epoch.
    public int rowsPerEpoch() {
        return shard.samplesPerEpoch();
    }

    /// The batches of an epoch.
    ///
    /// @param epoch from 0; each has its own order if the options say so
    public EpochBatches epoch(int epoch) {
        return epoch(epoch, 0);
    }

    /// The batches of an epoch without the first ones, for a training that resumes. The row groups
    /// before are not read.
    ///
    /// @param firstStep how many batches to leave out
    public EpochBatches epoch(int epoch, int firstStep) {
        if (epoch < 0 || firstStep < 0 || firstStep > stepsPerEpoch()) {
            throw new IllegalArgumentException(
                    "epoch %d, step %d: both count from 0, and an epoch has %d steps"
                            .formatted(epoch, firstStep, stepsPerEpoch()));
        }
        int skipped = Math.min(firstStep * options.batchSize(), rowsPerEpoch());
        List<Window> windows = windows(epoch);
        int first = 0;
        int before = 0;
        while (first < windows.size() - 1 && before + windows.get(first).rows() <= skipped) {
            before += windows.get(first++).rows();
        }
        Iterator<ShuffledRows> read =
                windows.subList(first, windows.size()).stream().map(this::read).iterator();
        // While one window is used, the next is read.
        Prefetcher<ShuffledRows> ahead = isCached ? null : new Prefetcher<>(read, 1);
        return new EpochBatches(
                stored.columns(),
                ahead == null ? read : ahead,
                skipped - before,
                rowsPerEpoch() - skipped,
                options,
                ahead);
    }

    /// Row groups whose rows are shuffled with each other.
    ///
    /// @param parts indices into the parts of this rank
    private record Window(List<Integer> parts, int rows, int epoch, int index) {}

    private List<Window> windows(int epoch) {
        List<Window> windows = new ArrayList<>();
        List<Integer> members = new ArrayList<>();
        int rows = 0;
        for (int part : order.order(parts.size(), epoch)) {
            members.add(part);
            rows = Math.addExact(rows, parts.get(part).rows());
            if (!options.isShuffled() || rows >= options.shuffleRows()) {
                windows.add(new Window(List.copyOf(members), rows, epoch, windows.size()));
                members.clear();
                rows = 0;
            }
        }
        if (!members.isEmpty()) {
            windows.add(new Window(List.copyOf(members), rows, epoch, windows.size()));
        }
        return windows;
    }

    private ShuffledRows read(Window window) {
        RowBlock[] blocks = new RowBlock[window.parts().size()];
        for (int i = 0; i < blocks.length; i++) {
            blocks[i] = read(window.parts().get(i));
        }
        long seed = new SplittableRandom(order.seed() + window.index() + 1).nextLong();
        int[] rows =
                new Sampling(options.isShuffled(), seed, options.lastBatch())
                        .order(window.rows(), window.epoch());
        return new ShuffledRows(blocks, rows);
    }

    private RowBlock read(int part) {
        RowBlock kept = isCached ? cache.get(part) : null;
        if (kept != null) {
            return kept;
        }
        RowBlock block = files.read(parts.get(part), stored.columns());
        if (isCached) {
            cache.set(part, block);
        }
        return block;
    }

    /// Forgets what is in memory. Close the batches of an epoch first.
    @Override
    public void close() {
        for (int i = 0; i < cache.length(); i++) {
            cache.set(i, null);
        }
        CacheBudget.SHARED.release(reserved);
        reserved = 0;
    }
}
