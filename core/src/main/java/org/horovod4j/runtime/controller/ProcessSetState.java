package org.horovod4j.runtime.controller;

import org.horovod4j.HorovodException;
import org.horovod4j.transport.Liveness;
import org.jspecify.annotations.Nullable;

import java.util.List;

/// The progress of a process set on this rank, and the check that ends its waits.
public final class ProcessSetState implements Liveness {
    private final WorldState world;
    private final int processSet;
    private final List<Integer> ranks;

    /// The last completed operation, written by the thread that runs operations. The start, when
    /// ranks measure their links, is operation 0.
    private volatile long completed = -1;

    /// When it completed, by [System#nanoTime]; published by the field above.
    private long completedNanos = System.nanoTime();

    private volatile @Nullable HorovodException closed;
    private Runnable waitHook = () -> {};

    /// @param ranks of the process set, as ranks of the world
    public ProcessSetState(WorldState world, int processSet, List<Integer> ranks) {
        this.world = world;
        this.processSet = processSet;
        this.ranks = List.copyOf(ranks);
        world.register(processSet, this);
    }

    /// Sets a hook that runs while an operation waits. It may throw, to end the operation.
    public void setWaitHook(Runnable hook) {
        waitHook = hook;
    }

    /// Records that operation `number` is complete on this rank.
    public void complete(long number) {
        completedNanos = System.nanoTime();
        completed = number;
    }

    /// The number of completed operations; -1 before the start is complete.
    public long completed() {
        return completed;
    }

    /// Nanoseconds since the last operation completed, or since the start.
    public long idleNanos() {
        long _ = completed; // read first, so that the time is at least that of this operation
        return System.nanoTime() - completedNanos;
    }

    /// Ends all waits with `reason`: the process set is removed, or the rank leaves.
    public void close(HorovodException reason) {
        closed = reason;
    }

    /// The number of the current or next operation.
    public long nextOperation() {
        return completed + 1;
    }

    @Override
    public void check() {
        world.check(closed, processSet, ranks, nextOperation());
        waitHook.run();
    }
}
