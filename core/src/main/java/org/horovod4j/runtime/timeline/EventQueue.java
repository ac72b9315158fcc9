package org.horovod4j.runtime.timeline;

import org.jspecify.annotations.Nullable;

import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/// Carries events from the threads that work to the one that writes, and never lets the former wait.
///
/// When it is full it shuts, and opens again once the writer has emptied it. So what is lost is lost in one
/// stretch: if each free place were taken at once, nearly every operation would lack some event, and none
/// could be shown whole.
final class EventQueue {
    private final Queue<Event> events = new ConcurrentLinkedQueue<>();
    private final AtomicInteger size = new AtomicInteger();
    private final AtomicLong lost = new AtomicLong();
    private final int capacity;
    private final Runnable halfFull;

    private volatile boolean shut;

    /// @param halfFull called by whoever fills the queue to the half, to hurry the writer
    EventQueue(int capacity, Runnable halfFull) {
        this.capacity = capacity;
        this.halfFull = halfFull;
    }

    void offer(Event event) {
        if (shut) {
            lost.incrementAndGet();
            return;
        }
        int before = size.getAndIncrement();
        if (before >= capacity) {
            size.decrementAndGet();
            lost.incrementAndGet();
            shut = true;
            return;
        }
        events.add(event);
        if (before == capacity / 2) {
            halfFull.run();
        }
    }

    @Nullable Event poll() {
        Event event = events.poll();
        if (event != null) {
            size.decrementAndGet();
        }
        return event;
    }

    boolean isShut() {
        return shut;
    }

    /// Lets events in again, and tells how many were lost since the last time.
    long reopen() {
        shut = false;
        return lost.getAndSet(0);
    }
}
