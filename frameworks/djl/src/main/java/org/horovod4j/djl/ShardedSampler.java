package org.horovod4j.djl;

import ai.djl.training.dataset.RandomAccessDataset;
import ai.djl.training.dataset.Sampler;

import org.horovod4j.Communicator;
import org.horovod4j.data.LastBatch;
import org.horovod4j.data.Sampling;
import org.horovod4j.data.Shard;
import org.horovod4j.training.CommunicatorProvider;

import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.StreamSupport;

/// Gives each rank its part of a data set: a [Shard] as a sampler of DJL.
///
/// ```java
/// ArrayDataset train = new ArrayDataset.Builder().setData(x).optLabels(y)
///         .setSampling(ShardedSampler.batches(32).build())
///         .build();
/// ```
///
/// All ranks have the same number of batches, unless [LastBatch#UNEVEN] is chosen. The order of the
/// samples depends on seed and epoch only, so ranks do not communicate about it, and a job that
/// resumes with another number of ranks continues with the same shuffles. Each call of [#sample],
/// which is one pass over the data, is the next epoch. So one sampler serves one data set.
///
/// (DJL's own `BatchSampler` counts batches by the size of the whole data set. With a `SubSampler`
/// that returns only a part, it yields empty batches, whose loss is NaN.)
public final class ShardedSampler implements Sampler {
    private final CommunicatorProvider communicators;
    private final int batchSize;
    private final Sampling sampling;
    private final AtomicInteger epoch = new AtomicInteger();

    private ShardedSampler(Builder builder) {
        this.communicators = builder.communicators;
        this.batchSize = builder.batchSize;
        this.sampling = builder.sampling;
    }

    /// A sampler of batches with this number of samples on each rank.
    public static Builder batches(int batchSize) {
        return new Builder(batchSize);
    }

    /// This rank's batches of the next epoch.
    @Override
    public Iterator<List<Long>> sample(RandomAccessDataset dataset) {
        Iterable<int[]> batches = shard(dataset.size()).batches(epoch.getAndIncrement());
        return StreamSupport.stream(batches.spliterator(), false)
                .map(batch -> Arrays.stream(batch).asLongStream().boxed().toList())
                .iterator();
    }

    /// The samples of one batch on one rank.
    @Override
    public int getBatchSize() {
        return batchSize;
    }

    /// The number of batches of this rank in an epoch.
    ///
    /// @param samples the size of the whole data set, `dataset.size()`
    public int stepsPerEpoch(long samples) {
        return shard(samples).stepsPerEpoch();
    }

    /// Divides the samples among the current ranks: in an elastic job they change.
    private Shard shard(long samples) {
        return sampling.shard(samples, batchSize, communicators.current());
    }

    /// The number of epochs that have begun, which is the number of the next one, from 0.
    public int epoch() {
        return epoch.get();
    }

    /// Sets the number of the next epoch, for a job that resumes.
    public void setEpoch(int next) {
        if (next < 0) {
            throw new IllegalArgumentException(
                    "the number of the next epoch is 0 or more, not " + next);
        }
        epoch.set(next);
    }

    /// Options of a sampler.
    public static final class Builder {
        private final int batchSize;
        private Sampling sampling = Sampling.shuffled(0);
        private CommunicatorProvider communicators = CommunicatorProvider.FROM_HVD;

        private Builder(int batchSize) {
            if (batchSize < 1) {
                throw new IllegalArgumentException(
                        "a batch has at least one sample, not " + batchSize);
            }
            this.batchSize = batchSize;
        }

        /// The seed of the shuffles, the same on every rank; 0 by default.
        public Builder seed(long value) {
            return sampling(Sampling.shuffled(value).withLastBatch(sampling.lastBatch()));
        }

        /// Uses the order of the data set in every epoch, for validation.
        public Builder inOrder() {
            return sampling(Sampling.inOrder().withLastBatch(sampling.lastBatch()));
        }

        /// What happens to the last samples of an epoch; [LastBatch#KEEP] by default.
        public Builder lastBatch(LastBatch value) {
            return sampling(sampling.withLastBatch(value));
        }

        /// Order and last batch together.
        public Builder sampling(Sampling value) {
            sampling = value;
            return this;
        }

        /// The ranks that share the data; by default all ranks that `Hvd` has in each epoch.
        public Builder communicator(Communicator value) {
            communicators = new CommunicatorProvider(value);
            return this;
        }

        public ShardedSampler build() {
            return new ShardedSampler(this);
        }
    }
}
