package org.horovod4j.runtime.device;

import org.horovod4j.HorovodException;
import org.horovod4j.log.Log;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/// A thread that watches the batches of a process set, from before their launch to their end.
///
/// A program may wait for a batch with a stream, so that no thread of it notices a lost rank: the
/// framework would wait for the stream forever. This thread notices, and ends what was launched.
final class DeviceMonitor {
    private static final Logger LOG = Log.of(DeviceMonitor.class);

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
        void abort();

        /// Reports that the process set has failed on this rank.
        ///
        /// @param failure of [#check], or of a batch
        void report(HorovodException failure);
    }

    DeviceMonitor(ThreadFactory threadFactory, Check check) {
        this.threadFactory = threadFactory;
        this.check = check;
    }

    /// Watches a batch that is launched next. Batches end in the order in which they are launched.
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
            if (isEnded(batch)) {
                remove(batch);
            } else {
                LockSupport.parkNanos(this, CHECK_NANOS);
            }
            batch = next();
        }
    }

    /// Whether a batch has ended, also by a failure that is noticed here.
    private boolean isEnded(LaunchedBatch batch) {
        HorovodException failed;
        try {
            check.check(batch.number());
            if (!batch.isEnded()) {
                return false;
            }
            failed = batch.failure();
        } catch (RuntimeException | Error e) {
            failed = asHorovodException(e);
        }
        if (failed != null) {
            failAndReport(failed);
        }
        return true;
    }

    /// The thread continues if this fails too, because other batches must end.
    private void failAndReport(HorovodException reason) {
        Cleanup cleanup = new Cleanup();
        if (!failBatches(reason, cleanup)) {
            return;
        }
        cleanup.run(check::abort);
        cleanup.run(() -> check.report(reason));
        try {
            cleanup.end();
        } catch (RuntimeException | Error e) {
            LOG.log(Level.WARNING, "Batches on a device could not be aborted", e);
        }
    }

    static HorovodException asHorovodException(Throwable failure) {
        return failure instanceof HorovodException known
                ? known
                : new HorovodException("a batch on a device failed: " + failure, failure);
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
    ///
    /// @return false if an earlier failure has done so
    boolean fail(HorovodException reason) {
        Cleanup cleanup = new Cleanup();
        if (!failBatches(reason, cleanup)) {
            return false;
        }
        cleanup.run(check::abort);
        cleanup.end();
        return true;
    }

    private boolean failBatches(HorovodException reason, Cleanup cleanup) {
        lock.lock();
        try {
            if (failure != null) {
                return false;
            }
            failure = reason;
            launched.forEach(each -> cleanup.run(() -> each.fail(reason)));
            return true;
        } finally {
            lock.unlock();
        }
    }

    /// The failure that has ended the batches, or null.
    @Nullable HorovodException failure() {
        lock.lock();
        try {
            return failure;
        } finally {
            lock.unlock();
        }
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
