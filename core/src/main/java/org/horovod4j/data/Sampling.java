package org.horovod4j.data;

import org.horovod4j.Communicator;

import java.util.SplittableRandom;
import java.util.stream.IntStream;

/// The order of the samples in each epoch, and what happens to the last ones. Use the same on all
/// ranks.
///
/// ```java
/// Shard shard = Sampling.shuffled(42).shard(samples, 32, Hvd.communicator());
/// for (int epoch = 0; epoch < 10; epoch++) {
///     for (int[] batch : shard.batches(epoch)) {
///         trainOn(batch);
///     }
/// }
/// ```
///
/// @param isShuffled whether each epoch has its own random order
/// @param seed of the random orders; 0 without them
/// @param lastBatch what happens to the samples that do not fill a batch on every rank
public record Sampling(boolean isShuffled, long seed, LastBatch lastBatch) {
    /// A random order for each epoch, the same in every run with this seed. The last samples are
    /// treated as [LastBatch#KEEP] says.
    public static Sampling shuffled(long seed) {
        return new Sampling(true, seed, LastBatch.KEEP);
    }

    /// The order of the data set in every epoch, as for validation. The last samples are treated as
    /// [LastBatch#KEEP] says.
    public static Sampling inOrder() {
        return new Sampling(false, 0, LastBatch.KEEP);
    }

    /// The same order with another rule for the last samples.
    public Sampling withLastBatch(LastBatch choice) {
        return new Sampling(isShuffled, seed, choice);
    }

    /// The part of a data set that belongs to this rank of `communicator`.
    ///
    /// @param samples of the whole data set
    /// @param batchSize samples of one batch on one rank
    public Shard shard(long samples, int batchSize, Communicator communicator) {
        return new Shard(samples, batchSize, this, communicator.rank(), communicator.size());
    }

    /// The samples 0 to `samples - 1` in the order of an epoch.
    public int[] order(int samples, int epoch) {
        int[] order = IntStream.range(0, samples).toArray();
        if (isShuffled) {
            // The seed of the epochs is drawn, or epoch 1 of seed 4 would be epoch 0 of seed 5.
            long drawn = new SplittableRandom(seed).nextLong();
            shuffle(order, new SplittableRandom(drawn + epoch));
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
}
