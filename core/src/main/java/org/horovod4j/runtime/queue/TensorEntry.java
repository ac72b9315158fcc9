package org.horovod4j.runtime.queue;

import org.horovod4j.DeviceStream;
import org.horovod4j.Handle;
import org.horovod4j.HorovodException;
import org.horovod4j.OperationTimeoutException;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.spi.DeviceEvent;
import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import java.util.concurrent.locks.LockSupport;

/// An operation in flight: its request, its tensors, and the handle that the program waits with.
///
/// Programs create thousands of entries per second, so an entry is one object without a lock: the
/// field `end` publishes the others. Entries that end together are linked by their field `next`. A
/// list that lives longer would cost a memory fence for each entry: the collector G1 executes one
/// when a reference to a new object is stored in an old one.
///
/// @param <T> the result of the operation
public final class TensorEntry<T> implements Handle<T> {
    private static final AtomicReferenceFieldUpdater<TensorEntry<?>, @Nullable Thread> WAITER =
            waiter();
    private static final AtomicReferenceFieldUpdater<TensorEntry<?>, @Nullable Runnable> ACTION =
            action();
    private static final AtomicReferenceFieldUpdater<TensorEntry<?>, @Nullable End> END = end();
    private static final long SECOND_WAITER_NANOS = 200_000;

    /// How often a wait with a timeout checks that a thread drives communication.
    private static final long POLL_NANOS = 3_000_000;

    private final Request request;
    private final Operation<?> operation;
    private final ProgressEngine progressEngine;
    private @Nullable QueueSlot slot;
    private long segment;
    private long sequence;
    private long submittedNanos;
    private @Nullable T result;
    private @Nullable HorovodException cause;

    /// The entry that [#signalEnds] handles after this one, of the same batch.
    private @Nullable TensorEntry<?> next;

    /// Null in main memory.
    private @Nullable LaunchedWork launchedWork;

    /// When the stream that computes its tensors has done so; null if they are ready.
    private @Nullable DeviceEvent readyEvent;

    private volatile @Nullable Thread waiter;
    private volatile @Nullable Runnable action;

    /// How it has ended; null while it runs. An initial value would cost a memory fence.
    private volatile @Nullable End end;

    private boolean observed;

    private enum End {
        DONE,
        FAILED
    }

    /// The place of a name in the queue. It stays the same from step to step, so batches keep it
    /// instead of the entry.
    @FunctionalInterface
    public interface QueueSlot {
        /// The entry in flight under the name, or null.
        @Nullable TensorEntry<?> tensorEntry();
    }

    /// Makes operations progress.
    public interface ProgressEngine {
        /// Returns when the entry is done. May run operations on the calling thread.
        void await(TensorEntry<?> tensorEntry);

        /// Called when the program has polled an entry that is not done.
        void polled(TensorEntry<?> tensorEntry);

        /// Called when the program has seen that an operation is done: later submissions may depend
        /// on it.
        void completionObserved();

        /// Takes and releases the lock under which entries of batches end. Then this thread sees
        /// that an entry has ended, or [#signalEnds] sees what this thread has written before.
        void passLock();
    }

    /// What was launched on a device for an operation.
    public interface LaunchedWork {
        /// Whether it has ended, perhaps with a failure.
        boolean isEnded();

        /// Waits for its end on the CPU.
        ///
        /// @return whether it has ended in this time
        boolean await(long nanos);

        /// Lets a stream wait for its end.
        void awaitOn(DeviceStream stream);

        /// Why it failed, or null.
        @Nullable HorovodException failure();
    }

    public TensorEntry(Request request, Operation<?> operation, ProgressEngine progressEngine) {
        this.request = request;
        this.operation = operation;
        this.progressEngine = progressEngine;
    }

    public Request request() {
        return request;
    }

    public Operation<?> operation() {
        return operation;
    }

    /// Its place in the queue, after it was added.
    public @Nullable QueueSlot slot() {
        return slot;
    }

    public void setSlot(QueueSlot taken) {
        slot = taken;
    }

    /// See [org.horovod4j.runtime.message.RankMessage.Submit#segment].
    public long segment() {
        return segment;
    }

    /// A number that increases with each submission of this rank.
    public long sequence() {
        return sequence;
    }

    /// When it was submitted, or up to about a second before.
    public long submittedNanos() {
        return submittedNanos;
    }

    /// Records when it was submitted.
    public void submitted(long number, long currentSegment, long nowNanos) {
        sequence = number;
        segment = currentSegment;
        submittedNanos = nowNanos;
    }

    /// When the elements of its tensors are computed; null if they are.
    public @Nullable DeviceEvent readyEvent() {
        return readyEvent;
    }

    public void setReadyEvent(DeviceEvent event) {
        readyEvent = event;
    }

    /// Frees the event, when nothing waits for it any more.
    public void releaseReadyEvent() {
        DeviceEvent event = readyEvent;
        if (event != null) {
            readyEvent = null;
            event.release();
        }
    }

    /// Records what was launched for it, before [#end].
    public void setLaunchedWork(LaunchedWork work) {
        launchedWork = work;
    }

    /// Sets the result, before [#end].
    public void setResult(T value) {
        result = value;
    }

    /// Marks the operation as done. The caller holds the lock that [ProgressEngine#passLock] takes,
    /// and calls [#signalEnds] when it has released the lock. So [#signalEnds] sees the waiter, or
    /// the waiter sees the end, without a memory fence.
    ///
    /// @param nextToSignal the entry that [#signalEnds] handles after this one, or null
    public void end(@Nullable TensorEntry<?> nextToSignal) {
        next = nextToSignal;
        END.lazySet(this, End.DONE);
    }

    /// Wakes the threads that wait for `first` and the entries after it, and runs what [#whenDone]
    /// has added.
    public static void signalEnds(@Nullable TensorEntry<?> first) {
        TensorEntry<?> ended = first;
        while (ended != null) {
            TensorEntry<?> other = ended.next;
            ended.next = null; // else a handle that the program keeps would keep the whole batch
            ended.signalEnd();
            ended = other;
        }
    }

    /// Ends the operation with a result, outside the lock.
    public void complete(T value) {
        setResult(value);
        end = End.DONE;
        signalEnd();
    }

    /// Ends the operation with a failure, outside the lock.
    public void fail(HorovodException exception) {
        releaseReadyEvent();
        cause = exception;
        end = End.FAILED;
        signalEnd();
    }

    private void signalEnd() {
        Thread waiting = waiter;
        if (waiting != null) {
            LockSupport.unpark(waiting);
        }
        runAction();
    }

    @Override
    public void whenDone(Runnable following) {
        if (!request.device().isHost()) { // a thread waits for the device
            Handle.super.whenDone(following);
            return;
        }
        Runnable before;
        do {
            before = action;
        } while (!ACTION.compareAndSet(
                this, before, before == null ? following : both(before, following)));
        progressEngine.passLock();
        if (hasEnded()) { // otherwise signalEnd() sees the action
            runAction();
        }
    }

    private static Runnable both(Runnable first, Runnable second) {
        return () -> {
            first.run();
            second.run();
        };
    }

    private void runAction() {
        Runnable taken = action == null ? null : ACTION.getAndSet(this, null);
        if (taken != null) {
            taken.run();
        }
    }

    /// Whether it is done. Does not count as an observation by the program.
    public boolean hasEnded() {
        return end != null;
    }

    /// Waits until it is done, for at most this time and perhaps less. An interrupt does not end
    /// the wait, because the tensors belong to the operation until it is done; the interrupt status
    /// is restored afterwards.
    public void awaitEnd(long nanos) {
        boolean interrupted = Thread.interrupted();
        boolean first = WAITER.compareAndSet(this, null, Thread.currentThread());
        progressEngine.passLock();
        try {
            if (!hasEnded()) {
                LockSupport.parkNanos(this, first ? nanos : Math.min(nanos, SECOND_WAITER_NANOS));
                interrupted |= Thread.interrupted();
            }
        } finally {
            if (first) {
                waiter = null;
            }
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public boolean isDone() {
        if (!hasEnded()) {
            progressEngine.polled(this);
            return false;
        }
        observe();
        LaunchedWork work = launchedWork;
        return work == null || work.isEnded();
    }

    @Override
    public Optional<HorovodException> failure() {
        return switch (end) {
            case null -> Optional.empty();
            case DONE ->
                    launchedWork == null
                            ? Optional.empty()
                            : Optional.ofNullable(launchedWork.failure());
            case FAILED -> Optional.ofNullable(cause);
        };
    }

    @Override
    public T join() {
        if (!hasEnded()) {
            progressEngine.await(this);
        }
        LaunchedWork work = launchedWork;
        if (work != null) {
            boolean _ = work.await(Long.MAX_VALUE);
        }
        return outcome();
    }

    @Override
    public T awaitOn(DeviceStream stream) {
        if (!hasEnded()) {
            progressEngine.await(this);
        }
        LaunchedWork work = launchedWork;
        if (work != null && work.failure() == null) {
            work.awaitOn(stream);
        }
        return outcome();
    }

    /// Does not drive communication, as [#join()] does: a thread that drives cannot leave a batch
    /// before all ranks have taken part in it.
    @Override
    public T join(Duration timeout) {
        long start = System.nanoTime();
        long nanos = saturatedNanos(timeout);
        while (!hasEnded()) {
            long left = nanos - (System.nanoTime() - start);
            if (left <= 0) {
                throw notEnded(timeout);
            }
            progressEngine.polled(this);
            awaitEnd(Math.min(left, POLL_NANOS));
        }
        LaunchedWork work = launchedWork;
        if (work != null && !work.await(nanos - (System.nanoTime() - start))) {
            throw notEnded(timeout);
        }
        return outcome();
    }

    private OperationTimeoutException notEnded(Duration timeout) {
        return new OperationTimeoutException(
                "%s has not ended after %s; it continues, and its tensors stay in use"
                        .formatted(request, timeout));
    }

    /// A wait of more than 292 years is one without end.
    private static long saturatedNanos(Duration timeout) {
        return timeout.compareTo(Duration.ofNanos(Long.MAX_VALUE)) >= 0
                ? Long.MAX_VALUE
                : timeout.toNanos();
    }

    @SuppressWarnings("NullAway") // without a cause there is a result, null if T allows it
    private T outcome() {
        observe();
        if (end == End.FAILED && cause != null) {
            throw cause.atCaller();
        }
        HorovodException onDevice = launchedWork == null ? null : launchedWork.failure();
        if (onDevice != null) {
            throw onDevice.atCaller();
        }
        return result;
    }

    private void observe() {
        if (!observed) {
            observed = true;
            progressEngine.completionObserved();
        }
    }

    @Override
    public String toString() {
        return request.toString();
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static AtomicReferenceFieldUpdater<TensorEntry<?>, @Nullable Runnable> action() {
        return (AtomicReferenceFieldUpdater)
                AtomicReferenceFieldUpdater.newUpdater(TensorEntry.class, Runnable.class, "action");
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static AtomicReferenceFieldUpdater<TensorEntry<?>, @Nullable End> end() {
        return (AtomicReferenceFieldUpdater)
                AtomicReferenceFieldUpdater.newUpdater(TensorEntry.class, End.class, "end");
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static AtomicReferenceFieldUpdater<TensorEntry<?>, @Nullable Thread> waiter() {
        return (AtomicReferenceFieldUpdater)
                AtomicReferenceFieldUpdater.newUpdater(TensorEntry.class, Thread.class, "waiter");
    }
}
