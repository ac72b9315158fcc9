package org.horovod4j.transport;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/// A clock that keeps the time of its last reading, for times that need not be exact: a reading takes a
/// sixth of the time of a small operation.
///
/// All parts of a rank share one. They read it at least every 20 ms while the rank waits for others, at
/// each poll of thread `hvd-cycle`, and after each batch that the coordinator has decided on. Thread
/// `hvd-stall` reads it at least once a second, unless it waits for reports of other ranks. So the kept
/// time is about a second old at most, or as old as a pause of the whole process. If the stall check is
/// off, a program reads the clock when it submits to an idle process set. The kept time is never in the
/// future, but two threads may set it in the wrong order.
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

    private volatile boolean readRegularly;

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

    /// A thread reads the clock regularly from now on. [#refresh] then does nothing.
    public void setReadRegularly() {
        readRegularly = true;
    }

    /// Reads the clock, unless a thread does so regularly.
    public void refresh() {
        if (!readRegularly) {
            long _ = nanoTime();
        }
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
