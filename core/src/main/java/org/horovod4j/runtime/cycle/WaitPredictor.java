package org.horovod4j.runtime.cycle;

import org.horovod4j.runtime.fusion.Batch;
import org.horovod4j.transport.Clock;
import org.jspecify.annotations.Nullable;

/// Predicts whether the program will wait for a batch that has just been filled, from what it
/// did the last time.
///
/// If it will, its own thread is the best to run the batch: the tensors are in that core's cache,
/// and waking another thread takes longer than a small batch. If not, thread `hvd-cycle` should
/// start at once, while the program computes. After a wrong prediction the batch starts late, at
/// the next poll of that thread.
///
/// Not synchronized: a race can only cause a wrong prediction.
final class WaitPredictor {
    /// A wait counts if it begins within this time.
    private static final long SOON_NANOS = 100_000;

    private final Clock clock;
    private volatile @Nullable Batch ready;
    private volatile long sinceNanos;

    WaitPredictor(Clock clock) {
        this.clock = clock;
    }

    /// Called when a submission has filled `batch`.
    ///
    /// @return whether the program will wait for it soon, rather than submit more
    boolean expectsWait(Batch batch) {
        if (batch.equals(ready)) {
            batch.setAwaitedSoon(false);
            return false;
        }
        sinceNanos = clock.nanoTime();
        ready = batch;
        return batch.wasAwaitedSoon();
    }

    /// Called when the program waits.
    void onWait() {
        Batch batch = ready;
        if (batch != null) {
            batch.setAwaitedSoon(isRecent());
            ready = null;
        }
    }

    /// Called when thread `hvd-cycle` polls for work.
    void onPoll() {
        Batch batch = ready;
        if (batch != null && !isRecent()) {
            batch.setAwaitedSoon(false);
            ready = null;
        }
    }

    private boolean isRecent() {
        return clock.nanoTime() - sinceNanos < SOON_NANOS;
    }
}
