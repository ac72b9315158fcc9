package org.horovod4j.launcher.remote;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;

class DeadlineTest {
    private static final Duration LONG = Duration.ofHours(1);

    private final AtomicInteger ends = new AtomicInteger();

    @Test
    void missedDeadlineRunsCallbackAndReportsStage() {
        Deadline deadline = new Deadline(Duration.ofMillis(1), ends::incrementAndGet);
        await().until(() -> deadline.missed().isPresent());
        assertThat(deadline.missed().orElseThrow()).contains("while connecting to it");
        await().untilAsserted(() -> assertThat(ends).hasValue(1));
        deadline.cancel();
        assertThat(ends).hasValue(1);
    }

    @Test
    void cancelRunsCallbackOnceAndIsNotMissed() {
        Deadline deadline = new Deadline(LONG, ends::incrementAndGet);
        deadline.cancel();
        deadline.cancel();
        assertThat(ends).hasValue(1);
        assertThat(deadline.missed()).isEmpty();
    }

    @Test
    void cancelAfterMeetDoesNothing() {
        Deadline deadline = new Deadline(LONG, ends::incrementAndGet);
        deadline.meet();
        deadline.cancel();
        assertThat(ends).hasValue(0);
    }
}
