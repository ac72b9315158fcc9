package org.horovod4j.transport;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/// A clock that also returns the time of its last reading. That is enough where some milliseconds do not
/// matter: reading the system's clock takes as long as a tenth of a small operation.
///
/// All parts of a process set share one. They read it when a program submits to an idle process set, and
/// while ranks wait for each other. In between, a rank only copies and adds.
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
