package org.horovod4j.runtime.cycle;

import org.horovod4j.HorovodException;
import org.horovod4j.runtime.fusion.Batch;
import org.horovod4j.runtime.fusion.Plan;
import org.horovod4j.runtime.queue.Operation;
import org.horovod4j.runtime.queue.TensorEntry;
import org.horovod4j.transport.CachedClock;
import org.jspecify.annotations.Nullable;

import java.lang.invoke.VarHandle;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;

/// The submitted operations. The program's threads add entries here, and the thread that drives the
/// cycle takes them.
///
/// Without a plan, entries wait for [#drain], and the [Follower] requests them from the
/// coordinator. While a plan is locked, entries go to their places in the plan; an entry without a
/// place is a *deviation*.
final class TensorQueue {
    private final SpinLock lock = new SpinLock();

    private final TensorTable table = new TensorTable();
    private final CachedClock clock;

    /// Entries to request from the coordinator: those without a place in a locked plan.
    private List<TensorEntry<?>> toRequest = new ArrayList<>();

    private @Nullable Plan plan;

    /// The next batch of the plan, if all its entries are submitted. Written under the lock, read without
    /// it.
    private final AtomicReference<@Nullable Batch> ready = new AtomicReference<>();

    /// Whether a thread drives the cycle. Becomes true under the lock.
    private final AtomicBoolean driven = new AtomicBoolean();

    private volatile @Nullable TensorEntry<Integer> joinOrFailStep;
    private @Nullable HorovodException closed;

    /// Written under the lock.
    private volatile Deviation deviation = Deviation.NONE;

    private long segment;

    /// The number of entries submitted so far.
    private long submitted;

    /// Release and acquire are enough: the thread that observes a completion also submits, or hands the
    /// result to the thread that submits. A volatile write would cost as much as taking the lock.
    private final AtomicBoolean completionObserved = new AtomicBoolean();

    TensorQueue(CachedClock clock) {
        this.clock = clock;
    }

    /// Whether and why this rank must leave the plan.
    enum Deviation {
        NONE,
        /// The program has submitted something that is not in the plan, or joins; or the autotuner
        /// needs other batches.
        REQUESTED,
        /// The program waits for an operation that the plan holds back.
        STUCK
    }

    /// Adds all entries, or none if a name is taken.
    ///
    /// @return whether there is work now; false if a batch of the plan still waits for other
    ///     entries
    /// @throws IllegalArgumentException when a name is in flight already
    /// @throws HorovodException when the queue is closed
    boolean submit(List<? extends TensorEntry<?>> entries) {
        lock.lock();
        try {
            beforeSubmit();
            table.add(entries);
            boolean ready = false;
            for (TensorEntry<?> tensorEntry : entries) {
                ready |= enqueue(tensorEntry);
            }
            return ready;
        } finally {
            lock.unlock();
        }
    }

    /// Like [#submit(List)] for one entry, without a list: most submissions are single.
    boolean submit(TensorEntry<?> tensorEntry) {
        lock.lock();
        try {
            beforeSubmit();
            table.add(tensorEntry);
            return enqueue(tensorEntry);
        } finally {
            lock.unlock();
        }
    }

    /// Adds an entry for which this thread will wait, and lets this thread drive if no other does.
    ///
    /// @return whether this thread drives now
    boolean submitAndTryDrive(TensorEntry<?> tensorEntry) {
        lock.lock();
        try {
            beforeSubmit();
            table.add(tensorEntry);
            boolean _ = enqueue(tensorEntry);
            return startDriving();
        } finally {
            lock.unlock();
        }
    }

    /// Lets this thread drive if no other does.
    ///
    /// @return whether this thread drives now
    boolean tryDrive() {
        lock.lock();
        try {
            return startDriving();
        } finally {
            lock.unlock();
        }
    }

    private boolean startDriving() {
        if (driven.getAcquire()) {
            return false;
        }
        driven.setPlain(true); // the lock publishes it
        return true;
    }

    /// Stops driving. Of this call and a submission, at least one sees the other: this thread sees
    /// the entry, or the thread that submits sees in [#isDriven] that no thread drives.
    void stopDriving() {
        driven.setRelease(false);
        VarHandle.fullFence();
    }

    /// Whether a thread drives. Called after a submission; see [#stopDriving].
    boolean isDriven() {
        VarHandle.fullFence();
        return driven.getAcquire();
    }

    private boolean enqueue(TensorEntry<?> tensorEntry) {
        tensorEntry.submitted(++submitted, segment, clock.cachedNanos());
        Plan locked = plan;
        if (locked != null && table.place(tensorEntry)) {
            return publishReady(locked) != null;
        }
        toRequest.add(tensorEntry);
        if (locked != null) {
            firstDeviation(Deviation.REQUESTED);
        }
        return true;
    }

    private @Nullable Batch publishReady(Plan locked) {
        Batch next = locked.ready();
        if (ready.getPlain() != next) { // a read costs less than a write
            ready.setRelease(next);
        }
        return next;
    }

    private void checkOpen() {
        HorovodException reason = closed;
        if (reason != null) {
            throw reason.atCaller();
        }
        if (joinOrFailStep != null) {
            throw new IllegalStateException(
                    isStepFailed()
                            ? "the step of this rank has failed: wait for failStep() to return before further collectives"
                            : "this rank has joined: wait for join() to return before further collectives");
        }
    }

    /// Whether this rank has joined, and so takes part in operations that it has not submitted.
    boolean hasJoined() {
        return joinOrFailStep != null && !isStepFailed();
    }

    /// Whether [#joinOrFailStep] waits for the end of a failed step.
    private boolean isStepFailed() {
        TensorEntry<Integer> waiting = joinOrFailStep;
        return waiting != null && waiting.operation() instanceof Operation.FailStep;
    }

    /// Joins: this rank contributes no data until all ranks have joined. Or ends a failed step: this
    /// rank submits nothing until all ranks have ended it.
    ///
    /// @param last completes when they have
    void join(TensorEntry<Integer> last) {
        lock.lock();
        try {
            checkOpen();
            last.submitted(submitted, segment, clock.nanoTime());
            joinOrFailStep = last;
            firstDeviation(Deviation.REQUESTED);
        } finally {
            lock.unlock();
        }
    }

    /// The pending join of this rank, or its wait for the end of a failed step, or null.
    @Nullable TensorEntry<Integer> joinOrFailStep() {
        return joinOrFailStep;
    }

    /// Completes the pending join. Called when all ranks have joined.
    void joined(int lastRank) {
        completeJoin(lastRank);
    }

    /// Completes the wait for the end of a failed step. Called when all ranks have ended it.
    ///
    /// @return false for a rank that has joined, and stays so
    boolean stepEnded(int lastRank) {
        if (!isStepFailed()) {
            return false;
        }
        completeJoin(lastRank);
        return true;
    }

    private void completeJoin(int lastRank) {
        TensorEntry<Integer> waiting;
        lock.lock();
        try {
            waiting = joinOrFailStep;
            joinOrFailStep = null;
        } finally {
            lock.unlock();
        }
        if (waiting != null) {
            waiting.complete(lastRank);
        }
    }

    private void beforeSubmit() {
        checkOpen();
        if (table.inFlight() == 0) { // the cached time may be old
            clock.refresh();
        }
        if (completionObserved.getAcquire()) {
            completionObserved.setRelease(false);
            segment++;
        }
    }

    /// Called when the program has seen an operation complete. Later submissions may depend on that
    /// result, so they belong to a new segment.
    void completionObserved() {
        if (!completionObserved.getAcquire()) { // a read costs less than a write
            completionObserved.setRelease(true);
        }
    }

    /// Removes and returns the entries to request from the coordinator; none while a plan is
    /// locked.
    List<TensorEntry<?>> drain() {
        lock.lock();
        try {
            if (toRequest.isEmpty() || plan != null) {
                return List.of();
            }
            List<TensorEntry<?>> drained = toRequest;
            toRequest = new ArrayList<>();
            return drained;
        } finally {
            lock.unlock();
        }
    }

    /// The entry in flight under a name, or null.
    @Nullable TensorEntry<?> find(String name) {
        lock.lock();
        try {
            return table.find(name);
        } finally {
            lock.unlock();
        }
    }

    /// All entries in flight.
    List<TensorEntry<?>> pending() {
        lock.lock();
        try {
            return table.inSubmissionOrder();
        } finally {
            lock.unlock();
        }
    }

    /// Whether nothing is in flight.
    boolean isEmpty() {
        return table.inFlight() == 0 && joinOrFailStep == null;
    }

    /// Frees the names of a batch that has run, and ends its entries.
    ///
    /// @return the first entry that ended, for [TensorEntry#signalEnds]; null if there is none
    @Nullable TensorEntry<?> end(Batch batch) {
        lock.lock();
        try {
            return endEntries(batch);
        } finally {
            lock.unlock();
        }
    }

    private @Nullable TensorEntry<?> endEntries(Batch batch) {
        TensorEntry<?> first = null;
        for (int i = batch.size() - 1; i >= 0; i--) {
            TensorEntry<?> tensorEntry = batch.entry(i);
            if (tensorEntry != null) {
                table.remove(tensorEntry);
                tensorEntry.end(first);
                first = tensorEntry;
            }
        }
        return first;
    }

    /// Takes and releases the lock. Then this thread sees what was submitted or has ended, and
    /// threads that submit or end entries later see what this thread has written before.
    void passLock() {
        lock.lock();
        lock.unlock();
    }

    /// Frees the name of an entry that fails without having run.
    void release(TensorEntry<?> tensorEntry) {
        lock.lock();
        try {
            table.remove(tensorEntry);
        } finally {
            lock.unlock();
        }
    }

    /// Locks a plan, beginning with batch `start`. Entries in flight take their places in it.
    void lockPlan(Plan locked, int start) {
        lock.lock();
        try {
            leavePlan();
            plan = locked;
            toRequest = new ArrayList<>();
            locked.restart(start);
            table.assignPlan(locked);
            for (TensorEntry<?> tensorEntry : table.inSubmissionOrder()) {
                if (!table.place(tensorEntry)) {
                    toRequest.add(tensorEntry);
                    deviation = Deviation.REQUESTED;
                }
            }
            Batch _ = publishReady(locked);
            if (joinOrFailStep != null) { // the coordinator has dropped its message
                deviation = Deviation.REQUESTED;
            }
        } finally {
            lock.unlock();
        }
    }

    /// Leaves the plan. Entries that have not run will be requested from the coordinator.
    void unlockPlan() {
        lock.lock();
        try {
            leavePlan();
            toRequest = new ArrayList<>(table.inSubmissionOrder());
        } finally {
            lock.unlock();
        }
    }

    private void leavePlan() {
        if (plan != null) {
            plan.restart(0); // the plan is kept for later, without entries
            table.clearPlan();
        }
        plan = null;
        ready.setRelease(null);
        deviation = Deviation.NONE;
    }

    /// The next batch of the plan if all its entries are submitted, else null.
    @Nullable Batch ready() {
        return ready.getAcquire();
    }

    /// Moves on to the next batch of the plan, and ends the entries of the batch that has run.
    ///
    /// @return the first entry that ended, for [TensorEntry#signalEnds]; null if there is none
    @Nullable TensorEntry<?> advance() {
        lock.lock();
        try {
            Plan locked = Objects.requireNonNull(plan, "a plan is locked");
            TensorEntry<?> ended =
                    endEntries(Objects.requireNonNull(locked.ready(), "its batch has run"));
            locked.advance();
            Batch _ = publishReady(locked);
            return ended;
        } finally {
            lock.unlock();
        }
    }

    /// Whether the plan holds the entry back: the next batch of the plan is not filled, because the
    /// program has not submitted all its entries. False for an entry that has ended.
    boolean isStuck(TensorEntry<?> tensorEntry) {
        lock.lock();
        try {
            return plan != null
                    && plan.ready() == null
                    && deviation == Deviation.NONE
                    && tensorEntry.equals(table.find(tensorEntry.request().name()));
        } finally {
            lock.unlock();
        }
    }

    /// Makes this rank leave the plan. The first reason counts. Does nothing without a plan.
    void deviate(Deviation why) {
        lock.lock();
        try {
            firstDeviation(why);
        } finally {
            lock.unlock();
        }
    }

    /// Records the first reason. The caller holds the lock.
    private void firstDeviation(Deviation why) {
        if (plan != null && deviation == Deviation.NONE) {
            deviation = why;
        }
    }

    /// The reason for which the program or the autotuner leaves the plan, for messages.
    String deviationCause() {
        lock.lock();
        try {
            if (deviation == Deviation.STUCK) {
                return "the program waits for an operation that the plan holds back";
            }
            if (joinOrFailStep != null) {
                return isStepFailed() ? "a step has failed" : "the program joins";
            }
            return toRequest.isEmpty()
                    ? "autotune changes the tuning"
                    : "the plan has no place for " + toRequest.getFirst();
        } finally {
            lock.unlock();
        }
    }

    /// Whether and why this rank must leave the plan.
    Deviation deviation() {
        return deviation;
    }

    /// Like [#hasWork], and reads the clock for later entries. Called every few milliseconds while
    /// operations are in flight and no thread drives.
    boolean pollForWork() {
        long _ = clock.nanoTime();
        return hasWork();
    }

    /// Whether the thread that drives the cycle has something to do.
    boolean hasWork() {
        lock.lock();
        try {
            return plan == null
                    ? table.inFlight() > 0 || joinOrFailStep != null
                    : plan.ready() != null || deviation != Deviation.NONE;
        } finally {
            lock.unlock();
        }
    }

    /// Fails all entries in flight, and all later submissions.
    void close(HorovodException reason) {
        List<TensorEntry<?>> failing;
        TensorEntry<Integer> waiting;
        lock.lock();
        try {
            if (closed == null) {
                closed = reason;
            }
            failing = table.inSubmissionOrder();
            waiting = joinOrFailStep;
            joinOrFailStep = null;
            table.clear();
            toRequest = new ArrayList<>();
            leavePlan();
        } finally {
            lock.unlock();
        }
        failing.forEach(tensorEntry -> tensorEntry.fail(reason));
        if (waiting != null) {
            waiting.fail(reason);
        }
    }
}
