package org.horovod4j.runtime.cycle;

import org.horovod4j.Handle;
import org.horovod4j.HorovodException;
import org.jspecify.annotations.Nullable;

import java.util.concurrent.CountDownLatch;

/// A handle and the end that completes it.
final class Promise<T> implements Handle<T> {
    private final CountDownLatch done = new CountDownLatch(1);
    private volatile @Nullable T result;
    private volatile @Nullable HorovodException cause;

    void complete(T value) {
        result = value;
        done.countDown();
    }

    void fail(HorovodException exception) {
        cause = exception;
        done.countDown();
    }

    @Override
    public boolean isDone() {
        return done.getCount() == 0;
    }

    @Override
    public @Nullable HorovodException cause() {
        return cause;
    }

    /// An interrupt does not end the wait, for the tensors belong to the operation until it is done; it
    /// is kept for the caller to see afterwards.
    @Override
    @SuppressWarnings(
            "NullAway") // a result is there when no cause is, and T says whether it may be null
    public T join() {
        boolean interrupted = false;
        while (true) {
            try {
                done.await();
                break;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        HorovodException failure = cause;
        if (failure != null) {
            throw failure;
        }
        return result;
    }
}
