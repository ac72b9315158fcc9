package org.horovod4j.transport;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/// A clock that keeps the time of its last reading, for times that need not be exact: a reading takes a
/// tenth of the time of a small operation.
///
/// All parts of a process set share one. They read it when a program submits to an idle process set, at
/// each poll of thread `hvd-cycle`, at least every 20 ms while a rank waits for others, and after each
/// batch that the coordinator has decided on. So the kept time is old by the time that a batch of a plan
/// computes, or by 20 ms. It is never in the future, but two threads may set it in the wrong order.
public final class CachedClock implements Clock {
    private static final VarHandle CACHED;

    static {
        try {
            CACHED = MethodHandles.lookup().findVarHandle(CachedClock.class, "cached", long.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private final Clock clock;

    @SuppressWarnings("UnusedVariable") // used through its handle
    private long cached;

    public CachedClock(Clock clock) {
        this.clock = clock;
        long _ = nanoTime();
    }

    /// Reads the clock.
    @Override
    public long nanoTime() {
        long now = clock.nanoTime();
        CACHED.setOpaque(this, now);
        return now;
    }

    /// The time of the last [#nanoTime], perhaps by another thread.
    public long cachedNanos() {
        return (long) CACHED.getOpaque(this);
    }

    @Override
    public void sleep(long nanos) {
        clock.sleep(nanos);
    }
}
