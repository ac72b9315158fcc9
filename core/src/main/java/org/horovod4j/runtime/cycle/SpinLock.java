package org.horovod4j.runtime.cycle;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/// A lock for short sections that threads rarely enter at the same time.
///
/// It costs half as much as a [java.util.concurrent.locks.ReentrantLock]: [#unlock] wakes no thread,
/// so it needs no memory fence. Without the fence, a read after [#unlock] may execute before other
/// threads see what was written in the section. A thread that does not get the lock spins, then
/// yields, then sleeps for short times, because the thread that has the lock may have lost its
/// processor.
///
/// Not reentrant.
final class SpinLock {
    private static final int SPINS = 100;
    private static final int YIELDS = 10;
    private static final long SLEEP_NANOS = 20_000;
    private static final long FREE = 0;

    /// The id of the thread that has the lock. A reference to the thread would cost a memory fence.
    private final AtomicLong owner = new AtomicLong(FREE);

    /// @throws IllegalMonitorStateException if this thread has the lock already
    void lock() {
        long thread = Thread.currentThread().threadId();
        if (!owner.compareAndSet(FREE, thread)) {
            lockContended(thread);
        }
    }

    private void lockContended(long thread) {
        if (owner.getPlain() == thread) {
            throw new IllegalMonitorStateException("this thread has the lock already");
        }
        for (int tries = 1;
                owner.getOpaque() != FREE || !owner.compareAndSet(FREE, thread);
                tries++) {
            if (tries <= SPINS) {
                Thread.onSpinWait();
                continue;
            }
            Thread.yield(); // also if the thread is interrupted and cannot sleep
            if (tries > SPINS + YIELDS) {
                LockSupport.parkNanos(this, SLEEP_NANOS);
            }
        }
    }

    void unlock() {
        owner.setRelease(FREE);
    }
}
