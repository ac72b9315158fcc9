package org.horovod4j.runtime.timeline;

import org.jspecify.annotations.Nullable;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceArray;

/// A ring buffer from the working threads to the writing thread. Working threads never wait: an
/// offer costs one atomic operation and one store.
///
/// When it is full it closes, and opens again after the writer has emptied it. So all lost events
/// are consecutive. If each free place were taken at once, nearly every operation would lack some
/// event, and none could be shown completely.
final class EventQueue {
    /// The number of events that the writer takes before it frees their places: each update of the
    /// counter costs the working threads a cache miss.
    private static final int FREED_AT_ONCE = 256;

    private final AtomicReferenceArray<@Nullable TimelineEvent> places;
    private final int mask;
    private final AtomicLong lost = new AtomicLong();
    private final Runnable halfFull;

    /// The number of offered and of taken events; a place is the number modulo the capacity.
    private final AtomicLong offered = new AtomicLong();

    private volatile long freed;

    /// Used by the writer only, and ahead of `freed`.
    private long taken;

    private volatile boolean overflowed;

    /// @param capacity a power of two
    /// @param halfFull called by the thread that fills half of the queue, to wake the writer
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

    /// The next event, or null if there is none yet. Called by the writer only.
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

    /// Opens the queue again, and returns the number of events lost since the last time.
    long clearOverflow() {
        overflowed = false;
        return lost.getAndSet(0);
    }
}
