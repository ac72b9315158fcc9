package org.horovod4j.djl;

import ai.djl.training.dataset.RandomAccessDataset;
import ai.djl.training.dataset.Sampler;

import org.horovod4j.Communicator;

import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/// Gives each rank its share of a data set, in an order that changes with every epoch and is the
/// same on all ranks.
///
/// ```java
/// ArrayDataset train = new ArrayDataset.Builder().setData(x).optLabels(y)
///         .setSampling(ShardedSampler.batches(32).build())
///         .build();
/// ```
///
/// All ranks have the same number of batches, unless [Tail#UNEVEN] is asked for. The order follows
/// from seed and epoch alone, so no rank has to be told, and a job that resumes with another number
/// of ranks goes on with the same shuffles. Each call of [#sample], which is each pass over the
/// data, is the next epoch; a sampler therefore serves one data set.
///
/// (DJL's own `BatchSampler` counts batches by the size of the whole data set, so a `SubSampler`
/// that hands out a share makes it yield empty batches, whose loss is NaN.)
public final class ShardedSampler implements Sampler {
    private final Supplier<SamplerRank> samplerRank;
    private final int batchSize;
    private final long seed;
    private final boolean shuffle;
    private final Tail tail;
    private final AtomicInteger epoch = new AtomicInteger();

    /// @param samplerRank asked for whenever data are shared out: workers may have come or gone
    private ShardedSampler(Builder builder, Supplier<SamplerRank> samplerRank) {
        this.samplerRank = samplerRank;
        this.batchSize = builder.batchSize;
        this.seed = builder.seed;
        this.shuffle = builder.shuffle;
        this.tail = builder.tail;
    }

    /// A sampler of batches of so many samples on each rank.
    public static Builder batches(int batchSize) {
        return new Builder(batchSize);
    }

    /// This rank's batches of the next epoch.
    @Override
    public Iterator<List<Long>> sample(RandomAccessDataset dataset) {
        Shard shard = shard(dataset.size());
        return new BatchIterator(shard, order(shard.samples(), epoch.getAndIncrement()));
    }

    /// Samples of one batch on one rank.
    @Override
    public int getBatchSize() {
        return batchSize;
    }

    /// How many batches this rank has in an epoch of so many samples, which is `dataset.size()`.
    public int stepsPerEpoch(long samples) {
        return shard(samples).batches();
    }

    /// How many epochs have begun; the number of the next one, from 0.
    public int epoch() {
        return epoch.get();
    }

    /// Makes this the number of the next epoch, for a job that resumes.
    public void setEpoch(int next) {
        if (next < 0) {
            throw new IllegalArgumentException("an epoch is not negative: " + next);
        }
        epoch.set(next);
    }

    private Shard shard(long samples) {
        SamplerRank now = samplerRank.get();
        return new Shard(samples, now.rank, now.size, batchSize, tail);
    }

    private int[] order(long samples, int epochNumber) {
        if (samples > Integer.MAX_VALUE) {
            throw new IllegalArgumentException(
                    "a data set of %d samples is larger than %d, the most that can be shuffled"
                            .formatted(samples, Integer.MAX_VALUE));
        }
        int[] order = IntStream.range(0, (int) samples).toArray();
        if (shuffle) {
            // Seeds are drawn rather than added up: streams of neighbouring seeds must not be
            // shifted copies.
            long drawn = new SplittableRandom(seed).nextLong();
            shuffle(order, new SplittableRandom(drawn + epochNumber));
        }
        return order;
    }

    private static void shuffle(int[] order, SplittableRandom random) {
        for (int i = order.length - 1; i > 0; i--) {
            int j = random.nextInt(i + 1);
            int swapped = order[i];
            order[i] = order[j];
            order[j] = swapped;
        }
    }

    /// This rank among those that share the data.
    private record SamplerRank(int rank, int size) {}

    private static final class BatchIterator implements Iterator<List<Long>> {
        private final Shard shard;
        private final int[] order;
        private long next;

        BatchIterator(Shard shard, int[] order) {
            this.shard = shard;
            this.order = order;
        }

        @Override
        public boolean hasNext() {
            return next < shard.length();
        }

        @Override
        public List<Long> next() {
            if (!hasNext()) {
                throw new NoSuchElementException("the epoch has no more batches");
            }
            long end = Math.min(next + shard.batchSize(), shard.length());
            List<Long> batch =
                    LongStream.range(next, end)
                            .map(index -> order[(int) shard.position(index)])
                            .boxed()
                            .toList();
            next = end;
            return batch;
        }
    }

    /// What a sampler may be told.
    public static final class Builder {
        private final int batchSize;
        private long seed;
        private boolean shuffle = true;
        private Tail tail = Tail.KEEP;
        private CommunicatorProvider communicators = CommunicatorProvider.FROM_HVD;

        private Builder(int batchSize) {
            if (batchSize < 1) {
                throw new IllegalArgumentException(
                        "a batch has at least one sample, not " + batchSize);
            }
            this.batchSize = batchSize;
        }

        /// Another order; the same number on every rank, please. 0 by default.
        public Builder seed(long value) {
            seed = value;
            return this;
        }

        /// The data set's own order, in every epoch: for validation.
        public Builder inOrder() {
            shuffle = false;
            return this;
        }

        /// What happens to the last samples; [Tail#KEEP] by default.
        public Builder tail(Tail value) {
            tail = value;
            return this;
        }

        /// The ranks that share the data; by default all those of `Hvd`, of each epoch anew.
        public Builder communicator(Communicator value) {
            communicators = new CommunicatorProvider(value);
            return this;
        }

        public ShardedSampler build() {
            CommunicatorProvider sharing = communicators;
            return new ShardedSampler(
                    this,
                    () -> new SamplerRank(sharing.current().rank(), sharing.current().size()));
        }

        /// For a rank that needs no communicator: tests of the arithmetic.
        ShardedSampler build(int rank, int size) {
            return new ShardedSampler(this, () -> new SamplerRank(rank, size));
        }
    }
}
