package org.horovod4j.runtime.controller;

import org.horovod4j.HorovodException;
import org.horovod4j.transport.Liveness;
import org.jspecify.annotations.Nullable;

import java.util.List;

/// How far a process set has come on this rank, and what ends its waiting.
public final class ProcessSetState implements Liveness {
    private final WorldState world;
    private final int processSet;
    private final List<Integer> ranks;

    /// The last operation that is over, written by whoever runs them. The start, when ranks measure
    /// their links, is operation 0.
    private volatile long completed = -1;

    /// When that was, by [System#nanoTime]; published by the field above.
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

    /// Lets `hook` run whenever an operation waits; it may throw to end the operation.
    public void setWaitHook(Runnable hook) {
        waitHook = hook;
    }

    /// Notes that operation `number` is over on this rank.
    public void complete(long number) {
        completedNanos = System.nanoTime();
        completed = number;
    }

    /// How many operations are over; -1 before the start is.
    public long completed() {
        return completed;
    }

    /// Nanoseconds since an operation was last over, or since the start.
    public long idleNanos() {
        long _ = completed; // read first, so that the time is at least that of this operation
        return System.nanoTime() - completedNanos;
    }

    /// Makes whatever waits give up with `reason`: the process set is removed, or the rank leaves.
    public void close(HorovodException reason) {
        closed = reason;
    }

    /// The number of the operation that runs, or runs next.
    public long nextOperation() {
        return completed + 1;
    }

    @Override
    public void check() {
        world.check(closed, processSet, ranks, nextOperation());
        waitHook.run();
    }
}
