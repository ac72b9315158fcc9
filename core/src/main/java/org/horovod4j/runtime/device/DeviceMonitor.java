package org.horovod4j.runtime.device;

import org.horovod4j.HorovodException;
import org.jspecify.annotations.Nullable;

import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/// A thread that watches the launched batches of a process set.
///
/// A program may wait for a batch with a stream, so that no thread of it notices a lost rank: the
/// framework would wait for the stream forever. This thread notices, and ends what was launched.
final class DeviceMonitor {
    /// Short enough to abort a batch soon, long enough to cost nothing.
    private static final long CHECK_NANOS = 1_000_000;

    private final ThreadFactory threadFactory;
    private final Check check;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Queue<LaunchedBatch> launched = new ArrayDeque<>();
    private @Nullable Thread thread;
    private boolean closed;
    private @Nullable HorovodException failure;

    /// What the monitor checks, and what it does.
    interface Check {
        /// Throws if batch `number` cannot complete.
        void check(long number);

        /// Ends the work of all batches that were launched.
        ///
        /// @param failure of [#check], or of a batch
        void abort(HorovodException failure);
    }

    DeviceMonitor(ThreadFactory threadFactory, Check check) {
        this.threadFactory = threadFactory;
        this.check = check;
    }

    /// Watches a batch. Batches end in the order in which they were launched.
    void watch(LaunchedBatch batch) {
        lock.lock();
        try {
            if (failure != null) {
                batch.fail(failure);
                return;
            }
            launched.add(batch);
            if (thread == null) {
                thread = threadFactory.newThread(this::run);
                thread.start();
            }
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private void run() {
        LaunchedBatch batch = next();
        while (batch != null) {
            try {
                check.check(batch.number());
            } catch (HorovodException e) {
                fail(e);
            }
            if (batch.isEnded()) {
                HorovodException failed = batch.failure();
                if (failed != null) {
                    fail(failed);
                }
                remove(batch);
            } else {
                LockSupport.parkNanos(this, CHECK_NANOS);
            }
            batch = next();
        }
    }

    /// The first batch that has not ended, or null after [#close].
    private @Nullable LaunchedBatch next() {
        lock.lock();
        try {
            while (launched.isEmpty() && !closed) {
                changed.awaitUninterruptibly();
            }
            return launched.peek();
        } finally {
            lock.unlock();
        }
    }

    private void remove(LaunchedBatch batch) {
        lock.lock();
        try {
            boolean _ = launched.remove(batch);
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /// Fails all launched batches, and then aborts them: their events complete by that.
    void fail(HorovodException reason) {
        lock.lock();
        try {
            if (failure != null) {
                return;
            }
            failure = reason;
            launched.forEach(each -> each.fail(reason));
        } finally {
            lock.unlock();
        }
        check.abort(reason);
    }

    /// Waits until all launched batches have ended, but not longer than `nanos`.
    ///
    /// @return whether they have
    boolean drain(long nanos) {
        lock.lock();
        try {
            long left = nanos;
            while (!launched.isEmpty() && left > 0) {
                left = changed.awaitNanos(left);
            }
            return launched.isEmpty();
        } catch (InterruptedException _) {
            Thread.currentThread().interrupt();
            return launched.isEmpty();
        } finally {
            lock.unlock();
        }
    }

    /// Ends the thread when the last batch has ended.
    void close() {
        lock.lock();
        try {
            closed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
