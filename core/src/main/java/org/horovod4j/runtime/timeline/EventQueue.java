package org.horovod4j.runtime.timeline;

import org.jspecify.annotations.Nullable;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;

/// A ring that carries events from the threads that work to the one that writes, and never lets the
/// former wait. To offer an event costs one atomic step and one store.
///
/// When it is full it shuts, and opens again once the writer has emptied it. So what is lost is
/// lost in one stretch: if each free place were taken at once, nearly every operation would lack
/// some event, and none could be shown whole.
final class EventQueue {
    /// How many events the writer takes before it tells that their places are free: each time it
    /// does, the others have to fetch the number anew.
    private static final int FREED_AT_ONCE = 256;

    private final AtomicReferenceArray<@Nullable TimelineEvent> places;
    private final int mask;
    private final AtomicLong lost = new AtomicLong();
    private final Runnable halfFull;

    /// How many events have been offered, and taken; a place is the number modulo the capacity.
    private final AtomicLong offered = new AtomicLong();

    private volatile long freed;

    /// Of the writer alone, and ahead of `freed`.
    private long taken;

    private volatile boolean overflowed;

    /// @param capacity a power of two
    /// @param halfFull called by whoever fills the queue to the half, to hurry the writer
    EventQueue(int capacity, Runnable halfFull) {
        if (Integer.bitCount(capacity) != 1) {
            throw new IllegalArgumentException("a power of two, not " + capacity);
        }
        this.places = new AtomicReferenceArray<>(capacity);
        this.mask = capacity - 1;
        this.halfFull = halfFull;
    }

    void offer(TimelineEvent timelineEvent) {
        if (overflowed) {
            lost.incrementAndGet();
            return;
        }
        long number = offered.get();
        long before = number - freed;
        while (before <= mask && !offered.compareAndSet(number, number + 1)) {
            number = offered.get();
            before = number - freed;
        }
        if (before > mask) {
            lost.incrementAndGet();
            overflowed = true;
            return;
        }
        places.setRelease((int) number & mask, timelineEvent);
        if (before == (mask + 1) / 2) {
            halfFull.run();
        }
    }

    /// The next event, or null when there is none yet. Called by the writer alone.
    @Nullable TimelineEvent poll() {
        int place = (int) taken & mask;
        TimelineEvent timelineEvent = places.getAcquire(place);
        if (timelineEvent != null) {
            places.setPlain(place, null); // published by the number below
            taken++;
        }
        if (taken - freed >= FREED_AT_ONCE || timelineEvent == null) {
            freed = taken;
        }
        return timelineEvent;
    }

    boolean isOverflowed() {
        return overflowed;
    }

    /// Lets events in again, and tells how many were lost since the last time.
    long clearOverflow() {
        overflowed = false;
        return lost.getAndSet(0);
    }
}
