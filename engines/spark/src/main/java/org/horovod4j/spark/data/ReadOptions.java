package org.horovod4j.spark.data;

import org.horovod4j.data.LastBatch;
import org.horovod4j.data.Sampling;

import java.io.Serializable;

/// How ranks read the rows of an epoch. Use the same on all ranks.
///
/// ```java
/// ReadOptions options = ReadOptions.batches(64).withSampling(Sampling.shuffled(42));
/// ```
///
/// @param batchSize rows of one batch on one rank
/// @param isShuffled whether each epoch has its own random order
/// @param seed of the random orders
/// @param lastBatch what happens to the rows that do not fill a batch on every rank. With
///     `UNEVEN` ranks have different numbers of batches, and a rank without one calls `join`. With
///     the others all have the same number
/// @param shuffleRows how many rows are shuffled with each other. The order of row groups is
///     shuffled too
/// @param prefetchBatches how many batches are read ahead
/// @param cacheBytes keeps the rows of this rank in memory if they need no more than this;
///     [#DEFAULT_CACHE] for a quarter of the largest heap, which all readers of a JVM share, 0 to
///     read the files in each epoch. It has no influence on the order
public record ReadOptions(
        int batchSize,
        boolean isShuffled,
        long seed,
        LastBatch lastBatch,
        int shuffleRows,
        int prefetchBatches,
        long cacheBytes)
        implements Serializable {
    /// A quarter of the largest heap.
    public static final long DEFAULT_CACHE = -1;

    private static final int SHUFFLE_ROWS = 1 << 16;
    private static final int PREFETCH_BATCHES = 4;

    public ReadOptions {
        if (batchSize < 1) {
            throw new IllegalArgumentException(
                    "a batch of %d rows: give a batch size of 1 or more".formatted(batchSize));
        }
        if (shuffleRows < 1 || prefetchBatches < 1 || cacheBytes < DEFAULT_CACHE) {
            throw new IllegalArgumentException(
                    "shuffleRows %d and prefetchBatches %d must be 1 or more, cacheBytes %d must be 0 or more"
                            .formatted(shuffleRows, prefetchBatches, cacheBytes));
        }
    }

    /// Batches of this many rows, in the order of the files, the last ones as [LastBatch#KEEP] says.
    public static ReadOptions batches(int batchSize) {
        return new ReadOptions(
                batchSize, false, 0, LastBatch.KEEP, SHUFFLE_ROWS, PREFETCH_BATCHES, DEFAULT_CACHE);
    }

    /// Another order, and another rule for the last rows.
    public ReadOptions withSampling(Sampling sampling) {
        return new ReadOptions(
                batchSize,
                sampling.isShuffled(),
                sampling.seed(),
                sampling.lastBatch(),
                shuffleRows,
                prefetchBatches,
                cacheBytes);
    }

    /// Shuffles this many rows with each other; 65,536 by default.
    public ReadOptions withShuffleRows(int rows) {
        return new ReadOptions(
                batchSize, isShuffled, seed, lastBatch, rows, prefetchBatches, cacheBytes);
    }

    /// Reads this many batches ahead; 4 by default.
    public ReadOptions withPrefetch(int batches) {
        return new ReadOptions(
                batchSize, isShuffled, seed, lastBatch, shuffleRows, batches, cacheBytes);
    }

    /// Keeps at most this many bytes in memory; 0 reads the files in each epoch.
    public ReadOptions withCache(long bytes) {
        return new ReadOptions(
                batchSize, isShuffled, seed, lastBatch, shuffleRows, prefetchBatches, bytes);
    }

    /// Order and last batch together.
    Sampling sampling() {
        return new Sampling(isShuffled, seed, lastBatch);
    }
}
