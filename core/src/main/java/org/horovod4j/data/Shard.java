package org.horovod4j.data;

import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.NoSuchElementException;

/// One rank's part of the samples of an epoch: every `size`-th of them, beginning with number
/// `rank`.
///
/// The batches of all ranks in one step are, together, the batch that a single process with `size`
/// times the batch size would take. So a shuffle gives the same steps on any number of ranks.
///
/// Arguments that leave a rank without samples are rejected on all ranks: a rank that throws
/// alone would leave the others waiting. With [LastBatch#UNEVEN] a shard may be empty.
///
/// @param samples of the whole data set
/// @param batchSize samples of one batch on one rank
/// @param rank of this process among those that share the data
/// @param size how many processes share the data
public record Shard(long samples, int batchSize, Sampling sampling, int rank, int size) {
    public Shard {
        if (batchSize < 1) {
            throw new IllegalArgumentException(
                    "a batch of %d samples: give a batch size of 1 or more".formatted(batchSize));
        }
        if (samples < 1) {
            throw new IllegalArgumentException(
                    "the data set is empty: there is nothing to divide among %d ranks"
                            .formatted(size));
        }
        if (sampling.lastBatch() != LastBatch.UNEVEN
                && stepsPerEpoch(samples, batchSize, sampling.lastBatch(), rank, size) == 0) {
            throw new IllegalArgumentException(
                    tooFew(samples, batchSize, sampling.lastBatch(), size));
        }
    }

    private static String tooFew(long samples, int batchSize, LastBatch lastBatch, int size) {
        return switch (lastBatch) {
            case DROP ->
                    """
                    %d samples do not make one batch of %d for each of %d ranks, and LastBatch.DROP leaves out \
                    what does not fill a batch. Use a batch size of at most %d, fewer ranks, or LastBatch.KEEP."""
                            .formatted(samples, batchSize, size, samples / size);
            case KEEP, PAD, UNEVEN ->
                    """
                    %d samples are too few for %d ranks: some would have none. Use fewer ranks, or \
                    LastBatch.PAD, which repeats samples."""
                            .formatted(samples, size);
        };
    }

    /// How many batches this rank has in an epoch.
    public int stepsPerEpoch() {
        return Math.toIntExact(stepsPerEpoch(samples, batchSize, sampling.lastBatch(), rank, size));
    }

    private static long stepsPerEpoch(
            long samples, int batchSize, LastBatch lastBatch, int rank, int size) {
        return switch (lastBatch) {
            case KEEP -> Math.ceilDiv(samples / size, batchSize);
            case DROP -> samples / size / batchSize;
            case PAD -> Math.ceilDiv(Math.ceilDiv(samples, size), batchSize);
            case UNEVEN -> Math.ceilDiv(samplesOf(samples, rank, size), batchSize);
        };
    }

    private static long samplesOf(long samples, int rank, int size) {
        return Math.ceilDiv(samples - rank, size);
    }

    /// How many samples this rank has in an epoch.
    public int samplesPerEpoch() {
        long own =
                switch (sampling.lastBatch()) {
                    case KEEP, DROP, UNEVEN ->
                            Math.min(
                                    samplesOf(samples, rank, size),
                                    (long) stepsPerEpoch() * batchSize);
                    case PAD -> Math.ceilDiv(samples, size);
                };
        return Math.toIntExact(own);
    }

    /// This rank's batches of an epoch, as indices into the data set. Each iterator makes the order
    /// of the whole epoch: 4 bytes for each sample.
    ///
    /// @param epoch from 0; each has its own order if the sampling is shuffled
    public Iterable<int[]> batches(int epoch) {
        if (epoch < 0) {
            throw new IllegalArgumentException(
                    "epoch %d: the first epoch has number 0".formatted(epoch));
        }
        if (samples > Integer.MAX_VALUE) {
            throw new IllegalArgumentException(
                    "a data set of %d samples is larger than %d, the most that can be shuffled"
                            .formatted(samples, Integer.MAX_VALUE));
        }
        return () -> new Batches(sampling.order((int) samples, epoch));
    }

    /// This rank's batches of several epochs, one epoch after another.
    ///
    /// @param firstEpoch more than 0 for a training that resumes
    /// @param epochs how many
    public Iterable<int[]> batches(int firstEpoch, int epochs) {
        return () ->
                new Iterator<>() {
                    private int next = firstEpoch;
                    private Iterator<int[]> current = Collections.emptyIterator();

                    @Override
                    public boolean hasNext() {
                        while (!current.hasNext() && next - firstEpoch < epochs) {
                            current = batches(next++).iterator();
                        }
                        return current.hasNext();
                    }

                    @Override
                    public int[] next() {
                        if (!hasNext()) {
                            throw new NoSuchElementException("there are no more batches");
                        }
                        return current.next();
                    }
                };
    }

    private final class Batches implements Iterator<int[]> {
        private final int[] order;
        private final int length = samplesPerEpoch();
        private int next;

        Batches(int[] order) {
            this.order = order;
        }

        @Override
        public boolean hasNext() {
            return next < length;
        }

        @Override
        public int[] next() {
            if (!hasNext()) {
                throw new NoSuchElementException("the epoch has no more batches");
            }
            int[] batch = new int[Math.min(batchSize, length - next)];
            Arrays.setAll(batch, i -> order[position(next + i)]);
            next += batch.length;
            return batch;
        }
    }

    /// The position of this rank's sample number `index` in the order of all ranks.
    private int position(int index) {
        return (int) ((rank + (long) index * size) % samples);
    }
}
