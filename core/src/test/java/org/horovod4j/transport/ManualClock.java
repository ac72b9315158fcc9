package org.horovod4j.transport;

import java.util.ArrayList;
import java.util.List;

/// A clock that advances only by [#sleep] and [#advance].
public final class ManualClock implements Clock {
    private final List<Long> sleeps = new ArrayList<>();
    private long now = 1;

    @Override
    public long nanoTime() {
        return now;
    }

    /// The lengths of all sleeps, in order.
    public List<Long> sleeps() {
        return sleeps;
    }

    @Override
    public void sleep(long nanos) {
        sleeps.add(nanos);
        now += nanos;
    }

    public void advance(long nanos) {
        now += nanos;
    }
}
