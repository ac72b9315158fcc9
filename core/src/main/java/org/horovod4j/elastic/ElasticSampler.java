package org.horovod4j.elastic;

import org.horovod4j.Communicator;

import java.util.List;
import java.util.Random;

/// Shares the samples of an epoch out to the ranks, whichever ranks there are at a time.
///
/// All ranks go through one order of the samples together: each step takes the next ones, and every
/// rank its part of them. So how far the epoch has come is one number, the same on all ranks, which
/// survives a change of their count: within an epoch no sample is lost and none comes twice, as far
/// as steps count that were not undone by going back to a commit.
///
/// As part of a state it is committed, restored and sent like the rest of it.
public final class ElasticSampler extends State {
    private final int count;
    private final boolean isShuffled;
    private final long seed;
    private LastBatch lastBatch = LastBatch.UNEVEN;
    private int rank;
    private int size;
    private Progress progress = new Progress(0, 0);
    private Progress committed = progress;
    private int[] order;
    private int orderedEpoch;

    private ElasticSampler(int count, boolean isShuffled, long seed) {
        if (count < 0) {
            throw new IllegalArgumentException(
                    "an ElasticSampler of %d samples: give how many the data set has, 0 or more"
                            .formatted(count));
        }
        this.count = count;
        this.isShuffled = isShuffled;
        this.seed = seed;
        this.order = orderOf(0);
    }

    /// What the ranks get in the last step of an epoch, when there is less left than all of them
    /// want.
    public enum LastBatch {
        /// What there is, in parts that differ by one at most: some batches may be empty.
        UNEVEN,
        /// Full batches, filled up with samples from the start of the epoch's order.
        REPEAT
    }

    /// How far it has come.
    ///
    /// @param processed samples of the epoch that all ranks together have taken
    private record Progress(int epoch, int processed) {}

    /// Samples 0 to `count - 1`, in an order that is random and in each epoch another, but the same
    /// in every run with this seed.
    public static ElasticSampler shuffled(int count, long seed) {
        return new ElasticSampler(count, true, seed);
    }

    /// Samples 0 to `count - 1` in this order.
    public static ElasticSampler inOrder(int count) {
        return new ElasticSampler(count, false, 0);
    }

    /// Decides about the last step of each epoch; without, it is [LastBatch#UNEVEN].
    public ElasticSampler withLastBatch(LastBatch choice) {
        lastBatch = choice;
        return this;
    }

    /// The epoch that is under way, from 0.
    public int epoch() {
        return progress.epoch;
    }

    /// How many samples of the epoch the ranks have taken, all together.
    public int processed() {
        return progress.processed;
    }

    /// Begins there, on all ranks: how a job goes on from a checkpoint on disk, which kept [#epoch] and
    /// [#processed] of a sampler with the same count, order and seed.
    ///
    /// @throws IllegalArgumentException when the data set has no such place
    public ElasticSampler startAt(int epoch, int processed) {
        if (epoch < 0 || processed < 0 || processed > count) {
            throw new IllegalArgumentException(
                    "startAt(%d, %d): give an epoch from 0 on, and how many of its %d samples were taken"
                            .formatted(epoch, processed, count));
        }
        progress = new Progress(epoch, processed);
        committed = progress;
        return this;
    }

    /// Whether the epoch has more: the same on all ranks.
    public boolean hasNext() {
        return progress.processed < count;
    }

    /// The samples of this rank's next batch. All ranks ask, with the same size of the batch.
    ///
    /// @throws IllegalStateException when the epoch has no more, or outside of [Elastic#run]
    public int[] nextBatch(int batchSize) {
        if (batchSize < 1) {
            throw new IllegalArgumentException(
                    "nextBatch(%d): give the size of this rank's batch, 1 or more"
                            .formatted(batchSize));
        }
        if (size == 0) {
            throw new IllegalStateException(
                    "who gets which sample is known inside of Elastic.run alone: make this sampler part of"
                            + " the state");
        }
        if (!hasNext()) {
            throw new IllegalStateException(
                    "epoch %d has no more samples: call nextEpoch".formatted(progress.epoch));
        }
        long wanted = (long) batchSize * size;
        int left = count - progress.processed;
        int[] batch =
                wanted > left && lastBatch == LastBatch.UNEVEN
                        ? part((long) left * rank / size, (long) left * (rank + 1) / size)
                        : part((long) batchSize * rank, (long) batchSize * (rank + 1));
        progress = new Progress(progress.epoch, progress.processed + (int) Math.min(wanted, left));
        return batch;
    }

    /// Begins the next epoch.
    public void nextEpoch() {
        progress = new Progress(progress.epoch + 1, 0);
    }

    /// Samples of the order from here on, which begins anew where it ends.
    private int[] part(long from, long to) {
        if (orderedEpoch != progress.epoch) {
            order = orderOf(progress.epoch);
            orderedEpoch = progress.epoch;
        }
        int[] part = new int[Math.toIntExact(to - from)];
        for (int i = 0; i < part.length; i++) {
            part[i] = order[(int) ((progress.processed + from + i) % count)];
        }
        return part;
    }

    /// `Random` is specified to the last bit, so every rank and every Java has the same order.
    private int[] orderOf(int epoch) {
        int[] shuffled = new int[count];
        for (int i = 0; i < count; i++) {
            shuffled[i] = i;
        }
        if (isShuffled) {
            Random random = new Random(seed + epoch);
            for (int i = count - 1; i > 0; i--) {
                int other = random.nextInt(i + 1);
                int sample = shuffled[i];
                shuffled[i] = shuffled[other];
                shuffled[other] = sample;
            }
        }
        return shuffled;
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
        List<Integer> told =
                communicator.broadcastObject(
                        "elastic: sampler", List.of(progress.epoch, progress.processed), rootRank);
        progress = new Progress(told.get(0), told.get(1));
    }
}
