package org.horovod4j.transport;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class CachedClockTest {
    private final ManualClock clock = new ManualClock();
    private final CachedClock cached = new CachedClock(clock);

    @Test
    void cachedTimeChangesWhenTheClockIsRead() {
        long start = clock.nanoTime();
        clock.advance(1_000);
        assertThat(cached.cachedNanos()).isEqualTo(start);
        assertThat(cached.nanoTime()).isEqualTo(start + 1_000);
        assertThat(cached.cachedNanos()).isEqualTo(start + 1_000);
    }

    @Test
    void refreshReadsTheClockUnlessAThreadDoes() {
        long start = clock.nanoTime();
        clock.advance(1_000);
        cached.refresh();
        assertThat(cached.cachedNanos()).isEqualTo(start + 1_000);
        cached.setReadRegularly();
        clock.advance(1_000);
        cached.refresh();
        assertThat(cached.cachedNanos()).isEqualTo(start + 1_000);
    }
}
