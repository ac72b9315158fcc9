package org.horovod4j.data;

/// What happens to the samples at the end of an epoch that do not fill one batch on every rank.
public enum LastBatch {
    /// The last batches are smaller, and all ranks have the same number of batches. Every sample is
    /// used once, with one exception: samples that remain after the last batch and are fewer than
    /// the ranks are left out, because some ranks would have none of them.
    KEEP,

    /// All batches are full. Up to one batch of each rank is left out; which samples that are
    /// changes with each shuffle.
    DROP,

    /// The last batches have the same size on all ranks. Samples from the start of the order are
    /// used again for that: fewer than there are ranks.
    PAD,

    /// Every sample is used exactly once. In the last step some ranks may have no samples: a
    /// [Shard] then has one batch less, and an `ElasticSampler` returns an empty batch.
    ///
    /// A rank without a batch calls [org.horovod4j.Communicator#join], or the other ranks wait for
    /// it in their next collective. It makes no step while they continue, so after each epoch it
    /// needs the weights and the optimizer state of the rank that `join()` returns.
    UNEVEN
}
