package org.horovod4j.runtime.controller;

import org.horovod4j.HorovodException;
import org.horovod4j.transport.CachedClock;
import org.horovod4j.transport.Liveness;
import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/// The progress of a process set on this rank, and the check that ends its waits.
public final class ProcessSetState implements Liveness {
    private final WorldState world;
    private final int processSet;
    private final List<Integer> ranks;
    private final CachedClock clock;

    /// The number of the last completed batch, written by the thread that runs batches. Batch 0 is
    /// the start, when ranks measure their links. A decision that an operation fails, or that all
    /// ranks have joined, counts as a batch.
    private final AtomicLong completed = new AtomicLong(-1);

    /// When it completed; published by the field above.
    private long completedNanos;

    private volatile @Nullable HorovodException closed;
    private Runnable waitHook = () -> {};

    /// @param ranks of the process set, as job ranks
    public ProcessSetState(
            WorldState world, int processSet, List<Integer> ranks, CachedClock clock) {
        this.world = world;
        this.processSet = processSet;
        this.ranks = List.copyOf(ranks);
        this.clock = clock;
        this.completedNanos = clock.nanoTime();
        world.register(processSet, this);
    }

    /// Sets a hook that runs while a batch waits for other ranks. It may throw, to end the batch.
    public void setWaitHook(Runnable hook) {
        waitHook = hook;
    }

    /// Records that batch `number` is complete on this rank.
    public void complete(long number) {
        long _ = clock.nanoTime();
        completeInPlan(number);
    }

    /// The same for a batch of a locked plan, without reading the clock.
    public void completeInPlan(long number) {
        completedNanos = clock.cachedNanos();
        completed.setRelease(number);
    }

    /// The number of completed batches; -1 before the start is complete.
    public long completed() {
        return completed.getAcquire();
    }

    /// Nanoseconds since the last batch completed, or since the start.
    public long idleNanos() {
        long _ = completed(); // read first, so that the time is at least that of this batch
        return clock.nanoTime() - completedNanos;
    }

    /// Ends all waits with `reason`: the process set is removed, or the rank leaves.
    public void close(HorovodException reason) {
        closed = reason;
    }

    /// The number of the current or next batch.
    public long nextBatch() {
        return completed() + 1;
    }

    /// Throws if a lost or departed rank blocks batch `number`. For threads that do not run batches.
    public void checkRanks(long number) {
        world.checkRanks(processSet, ranks, number);
    }

    /// The loss that ends the job, also if the lost rank has completed all batches; or null.
    public @Nullable HorovodException loss() {
        return world.loss();
    }

    /// The cause of a failure of a library: the loss of a rank, if it is known within this time.
    public HorovodException explain(HorovodException seen, Duration timeout) {
        return world.explain(seen, ranks, timeout);
    }

    @Override
    public void check() {
        world.check(closed, processSet, ranks, nextBatch());
        waitHook.run();
    }
}
