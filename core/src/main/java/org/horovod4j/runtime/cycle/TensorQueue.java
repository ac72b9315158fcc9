package org.horovod4j.runtime.cycle;

import org.horovod4j.HorovodException;
import org.horovod4j.runtime.fusion.Batch;
import org.horovod4j.runtime.fusion.Plan;
import org.horovod4j.runtime.queue.Entry;
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

    private final Slots slots = new Slots();
    private final Clock clock;

    /// The time, as of late: to read a clock for each of many small tensors would cost a tenth of a
    /// step.
    private long lateNanos;

    private List<Entry<?>> arrivals = new ArrayList<>();
    private @Nullable Plan plan;
    private volatile @Nullable Entry<Integer> joining;
    private @Nullable HorovodException closed;
    private Deviation deviation = Deviation.NONE;
    private long segment;
    private long submitted;
    private volatile boolean observed;

    TensorQueue(Clock clock) {
        this.clock = clock;
    }

    /// Whether and why this rank must leave the plan.
    public enum Deviation {
        NONE,
        /// The program wants something that is not in the plan.
        WISH,
        /// The program waits for something that the plan keeps back.
        FAULT
    }

    /// Takes entries in, all or none.
    ///
    /// @return whether there is something to do for it now, rather than when more has come
    /// @throws IllegalArgumentException when a name is in flight already
    /// @throws HorovodException when nothing can be submitted any more
    public boolean submit(List<? extends Entry<?>> entries) {
        lock.lock();
        try {
            begin();
            slots.admit(entries);
            boolean ready = false;
            for (Entry<?> entry : entries) {
                ready |= enter(entry);
            }
            return ready;
        } finally {
            lock.unlock();
        }
    }

    /// The same for a single entry, without a list to make: most are.
    public boolean submit(Entry<?> entry) {
        lock.lock();
        try {
            begin();
            slots.admit(entry);
            return enter(entry);
        } finally {
            lock.unlock();
        }
    }

    private boolean enter(Entry<?> entry) {
        entry.submitted(++submitted, segment, lateNanos);
        Plan locked = plan;
        if (locked != null && slots.place(entry)) {
            return locked.ready() != null;
        }
        arrivals.add(entry);
        if (locked != null) {
            deviate(Deviation.WISH);
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
    void join(Entry<Integer> last) {
        lock.lock();
        try {
            checkOpen();
            last.submitted(submitted, segment, clock.nanoTime());
            joining = last;
            if (plan != null) {
                deviation = Deviation.WISH;
            }
        } finally {
            lock.unlock();
        }
    }

    /// What ends when all ranks have joined, or null when this one has not.
    @Nullable Entry<Integer> joining() {
        return joining;
    }

    /// All ranks have joined.
    void joined(int lastRank) {
        Entry<Integer> waiting;
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

    private void begin() {
        checkOpen();
        if (slots.inFlight() == 0) { // nobody may have looked for long
            lateNanos = clock.nanoTime();
        }
        if (observed) {
            observed = false;
            segment++;
        }
    }

    /// The program has seen an operation complete: what it submits from now on may depend on that.
    public void observed() {
        if (!observed) { // a read costs less than a write, and a step has many handles
            observed = true;
        }
    }

    /// What is to be asked for; nothing while a plan is locked.
    public List<Entry<?>> drain() {
        lock.lock();
        try {
            if (arrivals.isEmpty() || plan != null) {
                return List.of();
            }
            List<Entry<?>> drained = arrivals;
            arrivals = new ArrayList<>();
            return drained;
        } finally {
            lock.unlock();
        }
    }

    /// The entry in flight under a name.
    public @Nullable Entry<?> find(String name) {
        lock.lock();
        try {
            return slots.find(name);
        } finally {
            lock.unlock();
        }
    }

    /// Everything in flight, as far as it has not ended.
    public List<Entry<?>> pending() {
        lock.lock();
        try {
            return slots.bySubmission();
        } finally {
            lock.unlock();
        }
    }

    /// Whether nothing is in flight.
    public boolean isEmpty() {
        lock.lock();
        try {
            return slots.inFlight() == 0 && joining == null;
        } finally {
            lock.unlock();
        }
    }

    /// Frees the names of a batch that has run, so that the program can use them again as soon as
    /// it hears of the end.
    ///
    /// @param completion takes the entries and their results
    public void release(Batch batch, Completion completion) {
        lock.lock();
        try {
            collect(batch, completion);
        } finally {
            lock.unlock();
        }
    }

    private void collect(Batch batch, Completion completion) {
        for (int i = 0; i < batch.size(); i++) {
            Entry<?> entry = batch.entry(i);
            if (entry != null) {
                slots.dismiss(entry);
                completion.add(entry, batch.result(i));
            }
        }
    }

    /// Frees the name of an entry that ends without having run.
    public void release(Entry<?> entry) {
        lock.lock();
        try {
            slots.dismiss(entry);
        } finally {
            lock.unlock();
        }
    }

    /// Follows `locked` from batch `start` on, with what is in flight.
    public void follow(Plan locked, int start) {
        lock.lock();
        try {
            leavePlan();
            plan = locked;
            arrivals = new ArrayList<>();
            locked.begin(start);
            slots.assign(locked);
            for (Entry<?> entry : slots.bySubmission()) {
                if (!slots.place(entry)) {
                    arrivals.add(entry);
                    deviation = Deviation.WISH;
                }
            }
            if (joining != null) { // it was on its way to the coordinator
                deviation = Deviation.WISH;
            }
        } finally {
            lock.unlock();
        }
    }

    /// Stops following the plan: what has not run is to be asked for.
    public void unfollow() {
        lock.lock();
        try {
            leavePlan();
            arrivals = new ArrayList<>(slots.bySubmission());
        } finally {
            lock.unlock();
        }
    }

    private void leavePlan() {
        if (plan != null) {
            plan.begin(0); // it may be kept, and should not keep tensors
            slots.unassign();
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
    /// @param completion takes the entries and their results
    /// @return whether that was the last one of a step
    public boolean advance(Completion completion) {
        lock.lock();
        try {
            Plan locked = Objects.requireNonNull(plan, "a plan is followed");
            collect(Objects.requireNonNull(locked.ready(), "its batch has run"), completion);
            return locked.advance();
        } finally {
            lock.unlock();
        }
    }

    /// Whether the plan keeps `entry` back for want of something that the program has not
    /// submitted. An entry that has run, and is about to hear of it, is not kept back.
    public boolean isStuck(Entry<?> entry) {
        lock.lock();
        try {
            return plan != null
                    && plan.ready() == null
                    && deviation == Deviation.NONE
                    && entry.equals(find(entry.request().name()));
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
    public boolean look() {
        lock.lock();
        try {
            lateNanos = clock.nanoTime();
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
                    ? slots.inFlight() > 0 || joining != null
                    : plan.ready() != null || deviation != Deviation.NONE;
        } finally {
            lock.unlock();
        }
    }

    /// Lets everything in flight fail, and whatever is submitted from now on.
    public void close(HorovodException reason) {
        List<Entry<?>> failing;
        Entry<Integer> waiting;
        lock.lock();
        try {
            if (closed == null) {
                closed = reason;
            }
            failing = slots.bySubmission();
            waiting = joining;
            joining = null;
            slots.clear();
            arrivals = new ArrayList<>();
            leavePlan();
        } finally {
            lock.unlock();
        }
        failing.forEach(entry -> entry.fail(reason));
        if (waiting != null) {
            waiting.fail(reason);
        }
    }
}
