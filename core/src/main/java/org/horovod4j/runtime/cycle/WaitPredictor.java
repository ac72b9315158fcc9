package org.horovod4j.runtime.cycle;

import org.horovod4j.runtime.fusion.Batch;
import org.horovod4j.transport.Clock;
import org.jspecify.annotations.Nullable;

/// Guesses whether the program is about to wait for a batch that it has just completed, from what
/// it did the last time.
///
/// If it is, its own thread is the best to run the batch: the tensors are in that core's cache, and
/// waking another thread takes longer than a small operation. If not, thread `hvd-cycle` should
/// start at once, while the program goes on. A wrong guess costs one step the time until that
/// thread looks by itself.
///
/// Threads may race here; what they spoil is a guess.
final class WaitPredictor {
    /// How soon the program waits if it is to be waited for.
    private static final long SOON_NANOS = 100_000;

    private final Clock clock;
    private volatile @Nullable Batch ready;
    private volatile long sinceNanos;

    WaitPredictor(Clock clock) {
        this.clock = clock;
    }

    /// Something was submitted, and all tensors of `batch` are there.
    ///
    /// @return whether the program will wait for it soon; not, if it submits more instead
    boolean expectsWait(Batch batch) {
        if (batch.equals(ready)) {
            batch.setAwaitedSoon(false);
            return false;
        }
        sinceNanos = clock.nanoTime();
        ready = batch;
        return batch.wasAwaitedSoon();
    }

    /// The program waits.
    void onWait() {
        Batch batch = ready;
        if (batch != null) {
            batch.setAwaitedSoon(isRecent());
            ready = null;
        }
    }

    /// Thread `hvd-cycle` looks for something to do.
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
