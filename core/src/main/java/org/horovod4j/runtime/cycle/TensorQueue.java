package org.horovod4j.runtime.cycle;

import org.horovod4j.HorovodException;
import org.horovod4j.runtime.fusion.Batch;
import org.horovod4j.runtime.fusion.Plan;
import org.horovod4j.runtime.queue.TensorEntry;
import org.horovod4j.transport.Clock;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;

/// What the program has submitted: where its threads and the one that drives the cycle meet.
///
/// Without a plan, entries wait to be asked for at the coordinator. While a plan is locked they go
/// straight to their places in it, and what has none is a *deviation*.
final class TensorQueue {
    private final ReentrantLock lock = new ReentrantLock();

    private final TensorTable table = new TensorTable();
    private final Clock clock;

    /// The time, as of late: to read a clock for each of many small tensors would cost a tenth of a
    /// step.
    private long cachedNanos;

    private List<TensorEntry<?>> arrivals = new ArrayList<>();
    private @Nullable Plan plan;
    private volatile @Nullable TensorEntry<Integer> joining;
    private @Nullable HorovodException closed;
    private Deviation deviation = Deviation.NONE;
    private long segment;
    private long submitted;
    private volatile boolean completionObserved;

    TensorQueue(Clock clock) {
        this.clock = clock;
    }

    /// Whether and why this rank must leave the plan.
    public enum Deviation {
        NONE,
        /// The program wants something that is not in the plan.
        REQUESTED,
        /// The program waits for something that the plan keeps back.
        FAULT
    }

    /// Takes entries in, all or none.
    ///
    /// @return whether there is something to do for it now, rather than when more has come
    /// @throws IllegalArgumentException when a name is in flight already
    /// @throws HorovodException when nothing can be submitted any more
    public boolean submit(List<? extends TensorEntry<?>> entries) {
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

    /// The same for a single entry, without a list to make: most are.
    public boolean submit(TensorEntry<?> tensorEntry) {
        lock.lock();
        try {
            beforeSubmit();
            table.add(tensorEntry);
            return enqueue(tensorEntry);
        } finally {
            lock.unlock();
        }
    }

    private boolean enqueue(TensorEntry<?> tensorEntry) {
        tensorEntry.submitted(++submitted, segment, cachedNanos);
        Plan locked = plan;
        if (locked != null && table.place(tensorEntry)) {
            return locked.ready() != null;
        }
        arrivals.add(tensorEntry);
        if (locked != null) {
            deviate(Deviation.REQUESTED);
        }
        return true;
    }

    private void checkOpen() {
        HorovodException reason = closed;
        if (reason != null) {
            throw reason;
        }
        if (joining != null) {
            throw new IllegalStateException(
                    "this rank has joined: wait for join() to return before further collectives");
        }
    }

    /// From now on this rank brings nothing of its own, until all ranks have joined.
    ///
    /// @param last ends when they have
    void join(TensorEntry<Integer> last) {
        lock.lock();
        try {
            checkOpen();
            last.submitted(submitted, segment, clock.nanoTime());
            joining = last;
            if (plan != null) {
                deviation = Deviation.REQUESTED;
            }
        } finally {
            lock.unlock();
        }
    }

    /// What ends when all ranks have joined, or null when this one has not.
    @Nullable TensorEntry<Integer> joining() {
        return joining;
    }

    /// All ranks have joined.
    void joined(int lastRank) {
        TensorEntry<Integer> waiting;
        lock.lock();
        try {
            waiting = joining;
            joining = null;
        } finally {
            lock.unlock();
        }
        if (waiting != null) {
            waiting.complete(lastRank);
        }
    }

    private void beforeSubmit() {
        checkOpen();
        if (table.inFlight() == 0) { // nobody may have looked for long
            cachedNanos = clock.nanoTime();
        }
        if (completionObserved) {
            completionObserved = false;
            segment++;
        }
    }

    /// The program has seen an operation complete: what it submits from now on may depend on that.
    public void completionObserved() {
        if (!completionObserved) { // a read costs less than a write, and a step has many handles
            completionObserved = true;
        }
    }

    /// What is to be asked for; nothing while a plan is locked.
    public List<TensorEntry<?>> drain() {
        lock.lock();
        try {
            if (arrivals.isEmpty() || plan != null) {
                return List.of();
            }
            List<TensorEntry<?>> drained = arrivals;
            arrivals = new ArrayList<>();
            return drained;
        } finally {
            lock.unlock();
        }
    }

    /// The entry in flight under a name.
    public @Nullable TensorEntry<?> find(String name) {
        lock.lock();
        try {
            return table.find(name);
        } finally {
            lock.unlock();
        }
    }

    /// Everything in flight, as far as it has not ended.
    public List<TensorEntry<?>> pending() {
        lock.lock();
        try {
            return table.inSubmissionOrder();
        } finally {
            lock.unlock();
        }
    }

    /// Whether nothing is in flight.
    public boolean isEmpty() {
        lock.lock();
        try {
            return table.inFlight() == 0 && joining == null;
        } finally {
            lock.unlock();
        }
    }

    /// Frees the names of a batch that has run, so that the program can use them again as soon as
    /// it hears of the end.
    ///
    /// @param completedEntries takes the entries and their results
    public void release(Batch batch, CompletedEntries completedEntries) {
        lock.lock();
        try {
            collect(batch, completedEntries);
        } finally {
            lock.unlock();
        }
    }

    private void collect(Batch batch, CompletedEntries completedEntries) {
        for (int i = 0; i < batch.size(); i++) {
            TensorEntry<?> tensorEntry = batch.entry(i);
            if (tensorEntry != null) {
                table.remove(tensorEntry);
                completedEntries.add(tensorEntry, batch.result(i));
            }
        }
    }

    /// Frees the name of an entry that ends without having run.
    public void release(TensorEntry<?> tensorEntry) {
        lock.lock();
        try {
            table.remove(tensorEntry);
        } finally {
            lock.unlock();
        }
    }

    /// Follows `locked` from batch `start` on, with what is in flight.
    public void lockPlan(Plan locked, int start) {
        lock.lock();
        try {
            leavePlan();
            plan = locked;
            arrivals = new ArrayList<>();
            locked.restart(start);
            table.assignPlan(locked);
            for (TensorEntry<?> tensorEntry : table.inSubmissionOrder()) {
                if (!table.place(tensorEntry)) {
                    arrivals.add(tensorEntry);
                    deviation = Deviation.REQUESTED;
                }
            }
            if (joining != null) { // it was on its way to the coordinator
                deviation = Deviation.REQUESTED;
            }
        } finally {
            lock.unlock();
        }
    }

    /// Stops following the plan: what has not run is to be asked for.
    public void unlockPlan() {
        lock.lock();
        try {
            leavePlan();
            arrivals = new ArrayList<>(table.inSubmissionOrder());
        } finally {
            lock.unlock();
        }
    }

    private void leavePlan() {
        if (plan != null) {
            plan.restart(0); // it may be kept, and should not keep tensors
            table.clearPlan();
        }
        plan = null;
        deviation = Deviation.NONE;
    }

    /// The plan's next batch, if it is complete.
    public @Nullable Batch ready() {
        lock.lock();
        try {
            return plan == null ? null : plan.ready();
        } finally {
            lock.unlock();
        }
    }

    /// Ends the turn of the plan's ready batch and frees its names.
    ///
    /// @param completedEntries takes the entries and their results
    /// @return whether that was the last one of a step
    public boolean advance(CompletedEntries completedEntries) {
        lock.lock();
        try {
            Plan locked = Objects.requireNonNull(plan, "a plan is followed");
            collect(Objects.requireNonNull(locked.ready(), "its batch has run"), completedEntries);
            return locked.advance();
        } finally {
            lock.unlock();
        }
    }

    /// Whether the plan keeps `entry` back for want of something that the program has not
    /// submitted. An entry that has run, and is about to hear of it, is not kept back.
    public boolean isStuck(TensorEntry<?> tensorEntry) {
        lock.lock();
        try {
            return plan != null
                    && plan.ready() == null
                    && deviation == Deviation.NONE
                    && tensorEntry.equals(find(tensorEntry.request().name()));
        } finally {
            lock.unlock();
        }
    }

    public void deviate(Deviation why) {
        lock.lock();
        try {
            if (plan != null && deviation == Deviation.NONE) {
                deviation = why;
            }
        } finally {
            lock.unlock();
        }
    }

    public Deviation deviation() {
        lock.lock();
        try {
            return deviation;
        } finally {
            lock.unlock();
        }
    }

    /// Like [#hasWork], for a thread that looks every few milliseconds while anything is in flight.
    public boolean pollForWork() {
        lock.lock();
        try {
            cachedNanos = clock.nanoTime();
            return hasWork();
        } finally {
            lock.unlock();
        }
    }

    /// Whether whoever drives the cycle has anything to do.
    public boolean hasWork() {
        lock.lock();
        try {
            return plan == null
                    ? table.inFlight() > 0 || joining != null
                    : plan.ready() != null || deviation != Deviation.NONE;
        } finally {
            lock.unlock();
        }
    }

    /// Lets everything in flight fail, and whatever is submitted from now on.
    public void close(HorovodException reason) {
        List<TensorEntry<?>> failing;
        TensorEntry<Integer> waiting;
        lock.lock();
        try {
            if (closed == null) {
                closed = reason;
            }
            failing = table.inSubmissionOrder();
            waiting = joining;
            joining = null;
            table.clear();
            arrivals = new ArrayList<>();
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
