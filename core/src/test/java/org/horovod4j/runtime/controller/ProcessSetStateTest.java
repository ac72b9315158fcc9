package org.horovod4j.runtime.controller;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.transport.CachedClock;
import org.horovod4j.transport.ManualClock;
import org.junit.jupiter.api.Test;

import java.util.List;

class ProcessSetStateTest {
    private static final long SECOND = 1_000_000_000;

    private final ManualClock clock = new ManualClock();
    private final CachedClock cachedClock = new CachedClock(clock);
    private final ProcessSetState state =
            new ProcessSetState(new WorldState(), 0, List.of(0, 1), cachedClock);

    /// A batch on a device may wait for seconds without a reading of the clock.
    @Test
    void idleTimeCountsFromTheEndOfANegotiatedBatch() {
        clock.advance(30 * SECOND);
        state.complete(0);
        clock.advance(SECOND);
        assertThat(state.idleNanos()).isEqualTo(SECOND);
    }

    @Test
    void idleTimeCountsFromTheLastReadingBeforeTheEndOfABatchOfAPlan() {
        clock.advance(2 * SECOND);
        long _ = cachedClock.nanoTime(); // a rank reads it while it waits
        clock.advance(1_000);
        state.completeInPlan(0);
        clock.advance(SECOND);
        assertThat(state.completed()).isZero();
        assertThat(state.idleNanos()).isEqualTo(SECOND + 1_000);
    }
}
