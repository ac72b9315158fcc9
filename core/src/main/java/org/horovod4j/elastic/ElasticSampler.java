package org.horovod4j.elastic;

import org.horovod4j.Communicator;
import org.horovod4j.data.LastBatch;
import org.horovod4j.data.Sampling;

import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;

/// Divides the samples of an epoch among the ranks, while the number of ranks changes.
///
/// All ranks go through one order of the samples together: each step takes the next samples, and
/// every rank gets its part of them. So the position in the epoch is one number. It is the same on
/// all ranks and stays valid when the number of ranks changes: within an epoch no sample is lost
/// and none is used twice, not counting steps that a return to the last commit undid.
///
/// ```java
/// ElasticSampler sampler = new ElasticSampler(samples, Sampling.shuffled(42));
/// ObjectState state = new ObjectState().with("sampler", sampler);
/// Elastic.run(state, s -> {
///     while (sampler.hasNext(32)) {
///         trainOn(sampler.nextBatch(32));
///         s.commit();
///     }
/// });
/// ```
///
/// As part of a state it is committed, restored and sent like the rest of the state.
public final class ElasticSampler extends State {
    private final int samples;
    private final Sampling sampling;
    private int rank;
    private int size;
    private Progress progress = new Progress(0, 0);
    private Progress committed = progress;
    private int[] order;
    private int orderedEpoch;

    /// Samples 0 to `samples - 1`.
    ///
    /// @param samples how many the data set has
    /// @param sampling their order, and what happens to the last ones
    public ElasticSampler(int samples, Sampling sampling) {
        if (samples < 0) {
            throw new IllegalArgumentException(
                    "an ElasticSampler of %d samples: give how many the data set has, 0 or more"
                            .formatted(samples));
        }
        this.samples = samples;
        this.sampling = sampling;
        this.order = sampling.order(samples, 0);
    }

    /// The position in the data.
    ///
    /// @param processed samples of the epoch that all ranks together have taken
    private record Progress(int epoch, int processed) {}

    /// How many samples the data set has.
    public int samples() {
        return samples;
    }

    /// The current epoch, from 0.
    public int epoch() {
        return progress.epoch;
    }

    /// How many samples of the epoch all ranks together have taken.
    public int processed() {
        return progress.processed;
    }

    /// Starts at this position, on all ranks, to resume from a checkpoint on disk. The checkpoint
    /// has [#epoch] and [#processed] of a sampler with the same number of samples, order and seed.
    ///
    /// @throws IllegalArgumentException when the data set has no such position
    public ElasticSampler startAt(int epoch, int processed) {
        if (epoch < 0 || processed < 0 || processed > samples) {
            throw new IllegalArgumentException(
                    "startAt(%d, %d): give an epoch of 0 or more, and how many of its %d samples were taken"
                            .formatted(epoch, processed, samples));
        }
        progress = new Progress(epoch, processed);
        committed = progress;
        return this;
    }

    /// Whether the epoch has a batch of up to `batchSize` samples for each rank: the same answer on
    /// all ranks.
    ///
    /// @throws IllegalStateException outside of [Elastic#run]
    public boolean hasNext(int batchSize) {
        check(batchSize);
        return hasNext(batchSize, progress.processed);
    }

    private boolean hasNext(int batchSize, int processed) {
        int left = samples - processed;
        return switch (sampling.lastBatch()) {
            case KEEP -> left >= size;
            case DROP -> left >= (long) batchSize * size;
            case PAD, UNEVEN -> left > 0;
        };
    }

    /// The samples of this rank's next batch. All ranks call this, with the same batch size.
    ///
    /// @throws IllegalStateException when [#hasNext] is false, and outside of [Elastic#run]
    public int[] nextBatch(int batchSize) {
        requireNext(batchSize);
        int[] batch = batchAt(batchSize, progress.processed);
        advance(batchSize);
        return batch;
    }

    /// This rank's batches from the current position to the end of the epoch, without taking them:
    /// [#advance] does. For frameworks that load batches before they train on them.
    ///
    /// @throws IllegalStateException outside of [Elastic#run]
    public Iterator<int[]> remainingBatches(int batchSize) {
        check(batchSize);
        return new Iterator<>() {
            private int processed = progress.processed;

            @Override
            public boolean hasNext() {
                return ElasticSampler.this.hasNext(batchSize, processed);
            }

            @Override
            public int[] next() {
                if (!hasNext()) {
                    throw new NoSuchElementException();
                }
                int[] batch = batchAt(batchSize, processed);
                processed = after(batchSize, processed);
                return batch;
            }
        };
    }

    /// Takes the next batch of all ranks, which the program has got from [#remainingBatches].
    ///
    /// @throws IllegalStateException when [#hasNext] is false, and outside of [Elastic#run]
    public void advance(int batchSize) {
        requireNext(batchSize);
        progress = new Progress(progress.epoch, after(batchSize, progress.processed));
    }

    private void requireNext(int batchSize) {
        if (!hasNext(batchSize)) {
            throw new IllegalStateException(
                    "epoch %d has no more batches: call nextEpoch".formatted(progress.epoch));
        }
    }

    private int after(int batchSize, int processed) {
        return (int) Math.min(processed + (long) batchSize * size, samples);
    }

    private int[] batchAt(int batchSize, int processed) {
        int left = samples - processed;
        if ((long) batchSize * size <= left) {
            return batch(processed + (long) batchSize * rank, batchSize);
        }
        if (sampling.lastBatch() == LastBatch.PAD) {
            int padded = Math.ceilDiv(left, size);
            return batch(processed + (long) padded * rank, padded);
        }
        long from = (long) left * rank / size;
        return batch(processed + from, (int) ((long) left * (rank + 1) / size - from));
    }

    private void check(int batchSize) {
        if (batchSize < 1) {
            throw new IllegalArgumentException(
                    "a batch of %d samples: give the size of this rank's batch, 1 or more"
                            .formatted(batchSize));
        }
        if (size == 0) {
            throw new IllegalStateException(
                    "an ElasticSampler works only inside Elastic.run: add it to the state that is passed"
                            + " to Elastic.run");
        }
    }

    /// Starts the next epoch.
    public void nextEpoch() {
        progress = new Progress(progress.epoch + 1, 0);
    }

    /// Samples from position `from` of the order, which starts again after its end.
    private int[] batch(long from, int length) {
        if (orderedEpoch != progress.epoch) {
            order = sampling.order(samples, progress.epoch);
            orderedEpoch = progress.epoch;
        }
        int[] batch = new int[length];
        for (int i = 0; i < length; i++) {
            batch[i] = order[(int) ((from + i) % samples)];
        }
        return batch;
    }

    @Override
    protected void generationStarted(Communicator communicator) {
        generationStarted(communicator.rank(), communicator.size());
    }

    void generationStarted(int newRank, int newSize) {
        rank = newRank;
        size = newSize;
    }

    @Override
    protected void save() {
        committed = progress;
    }

    @Override
    public void restore() {
        progress = committed;
    }

    @Override
    public void sync(Communicator communicator, int rootRank) {
        List<Integer> received =
                communicator.broadcastObject(
                        "elastic: sampler", List.of(progress.epoch, progress.processed), rootRank);
        progress = new Progress(received.get(0), received.get(1));
    }
}
