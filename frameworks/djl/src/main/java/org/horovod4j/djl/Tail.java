package org.horovod4j.djl;

/// What a [ShardedSampler] does with the samples at the end of an epoch that do not fill a batch on
/// every rank.
public enum Tail {
    /// The last batch is as large as what is left, and all ranks have the same number of batches.
    /// Every sample comes once, with one exception: when fewer samples are left than there are
    /// ranks and they would be a batch of their own on some ranks alone, they are left out.
    KEEP,

    /// Full batches only. Up to one batch of each rank is left out, another one in each shuffle.
    DROP,

    /// Some samples come twice, fewer than there are ranks, so that all ranks have batches of the
    /// same size.
    PAD,

    /// Every sample comes once, and some ranks may have one batch more than others. A rank that
    /// trains in this way says `join()` when it has no more batches, or the others wait for it for
    /// ever. That takes a loop by hand: `EasyTrain.fit` does not join. A rank that has joined makes
    /// no step while the others go on, so after each epoch it must be given weights and optimizer
    /// state, from the rank that `join()` returns:
    ///
    /// ```java
    /// int last = Hvd.join();
    /// HvdDjl.broadcastParameters(model, last);
    /// HvdDjl.broadcastOptimizerState(optimizer, model, last);
    /// ```
    UNEVEN
}
