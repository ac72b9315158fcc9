package org.horovod4j.runtime.backend;

import org.horovod4j.HorovodException;
import org.horovod4j.PeerLostException;
import org.horovod4j.ShutDownException;
import org.horovod4j.log.Log;
import org.horovod4j.runtime.controller.ProcessSetState;
import org.horovod4j.spi.Backend;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Collection;
import java.util.Objects;
import java.util.Queue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Function;
import java.util.function.Supplier;

/// A thread that watches the batches of a process set, from before their launch to their end.
///
/// A program may wait for a batch with a stream of a device, so that no thread of it notices a lost rank:
/// the framework would wait for the stream forever. Or a thread waits inside a library. This thread
/// notices, and ends what was launched.
public final class BackendMonitor {
    private static final Logger LOG = Log.of(BackendMonitor.class);

    /// Short enough to abort a batch soon, long enough to cost nothing.
    private static final long CHECK_NANOS = 1_000_000;

    /// How long a batch that a lost rank had launched may still take.
    private static final Duration LOSS_GRACE = Duration.ofSeconds(1);

    /// How long the report of a loss may take that a library has noticed.
    private static final Duration LOSS_REPORT_TIMEOUT = Duration.ofSeconds(1);

    private final ThreadFactory threadFactory;
    private final ProcessSetState state;
    private final Supplier<? extends Collection<? extends Backend>> backends;
    private final Function<Throwable, HorovodException> reportFailure;

    /// When the loss of a rank was noticed; 0 before.
    private final AtomicLong lossNanos = new AtomicLong();

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Queue<WatchedBatch> launched = new ArrayDeque<>();
    private @Nullable Thread thread;
    private boolean closed;
    private @Nullable HorovodException failure;

    /// A batch that was launched.
    public interface WatchedBatch {
        /// The number of the batch.
        long number();

        /// Whether it has ended, by a failure or not.
        boolean isEnded();

        /// The failure that has ended it, or null.
        @Nullable HorovodException failure();

        /// Ends it by a failure, unless it has ended.
        void fail(HorovodException reason);
    }

    /// @param threadFactory creates the thread
    /// @param state of the process set
    /// @param backends that have launched batches
    /// @param reportFailure reports a failure to the other ranks, and returns the exception for this
    ///     program
    public BackendMonitor(
            ThreadFactory threadFactory,
            ProcessSetState state,
            Supplier<? extends Collection<? extends Backend>> backends,
            Function<Throwable, HorovodException> reportFailure) {
        this.threadFactory = threadFactory;
        this.state = state;
        this.backends = backends;
        this.reportFailure = reportFailure;
    }

    /// Ends a wait of the thread that launches, if a rank is lost.
    public void checkLaunch() {
        state.check();
        checkLoss();
        HorovodException noticed = failure();
        if (noticed != null) {
            throw noticed;
        }
    }

    /// A lost rank may have launched a batch, and its part may have ended or not.
    private void checkLoss() {
        HorovodException loss = state.loss();
        if (loss != null) {
            long now = System.nanoTime();
            boolean _ = lossNanos.compareAndSet(0, now);
            if (now - lossNanos.get() > LOSS_GRACE.toNanos()) {
                throw loss;
            }
        }
    }

    /// Throws if batch `number` cannot complete.
    private void check(long number) {
        state.checkRanks(number);
        checkLoss();
        backends.get().forEach(Backend::check);
    }

    /// Ends the work of all batches that were launched.
    private void abort() {
        Cleanup cleanup = new Cleanup();
        backends.get().forEach(each -> cleanup.run(each::abort));
        cleanup.end();
    }

    private void report(HorovodException reason) {
        if (!(reason instanceof ShutDownException)) { // of this rank, which the others learn of
            state.close(reportFailure.apply(reason));
        }
    }

    /// Watches a batch that is launched next. Batches end in the order in which they are launched.
    public void watch(WatchedBatch batch) {
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
        WatchedBatch batch = next();
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
    private boolean isEnded(WatchedBatch batch) {
        HorovodException failed;
        try {
            check(batch.number());
            if (!batch.isEnded()) {
                return false;
            }
            failed = batch.failure();
        } catch (RuntimeException | Error e) {
            failed = asHorovodException(e);
        }
        if (failed != null) {
            failAndReport(explain(failed));
        }
        return true;
    }

    /// The thread continues if this fails too, because other batches must end.
    private void failAndReport(HorovodException reason) {
        Cleanup cleanup = new Cleanup();
        if (!failBatches(reason, cleanup)) {
            return;
        }
        cleanup.run(this::abort);
        cleanup.run(() -> report(reason));
        try {
            cleanup.end();
        } catch (RuntimeException | Error e) {
            LOG.log(Level.WARNING, "Batches of a backend could not be aborted", e);
        }
    }

    /// A library may notice first that a rank is lost, by a connection that breaks. For the program the
    /// loss is the failure.
    ///
    /// @param failed a failure of a backend
    public HorovodException explain(HorovodException failed) {
        if (failed instanceof PeerLostException || failed instanceof ShutDownException) {
            return failed;
        }
        HorovodException explained = state.explain(failed, LOSS_REPORT_TIMEOUT);
        if (!explained.equals(failed)) {
            explained.addSuppressed(failed);
        }
        return explained;
    }

    private static HorovodException asHorovodException(Throwable failure) {
        return failure instanceof HorovodException known
                ? known
                : new HorovodException("a batch failed in a backend: " + failure, failure);
    }

    /// Aborts all batches, because the launch of one has failed.
    ///
    /// @return the exception to throw: the failure that the thread has noticed before, if there is one
    public HorovodException aborted(Throwable launchFailure) {
        HorovodException noticed = failure();
        if (noticed != null) { // which has ended the launch
            return noticed.atCaller();
        }
        HorovodException reason = explain(asHorovodException(launchFailure));
        try {
            if (!fail(reason)) {
                HorovodException before = Objects.requireNonNull(failure());
                return before.atCaller();
            }
        } catch (RuntimeException | Error e) {
            reason.addSuppressed(e);
        }
        return reason;
    }

    /// The first batch that has not ended, or null after [#close].
    private @Nullable WatchedBatch next() {
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

    private void remove(WatchedBatch batch) {
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
    public boolean fail(HorovodException reason) {
        Cleanup cleanup = new Cleanup();
        if (!failBatches(reason, cleanup)) {
            return false;
        }
        cleanup.run(this::abort);
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
    public boolean drain(long nanos) {
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
    public void close() {
        lock.lock();
        try {
            closed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
