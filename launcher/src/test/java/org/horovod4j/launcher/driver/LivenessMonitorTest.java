package org.horovod4j.launcher.driver;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.time.Duration;

class LivenessMonitorTest {
    private static final Duration START = Duration.ofSeconds(7);
    private static final Duration END = START.plus(LivenessMonitor.GRACE_PERIOD);

    private final LivenessMonitor monitor = new LivenessMonitor();

    @Test
    void unresponsiveWorkerExpiresOnceAfterGracePeriod() {
        monitor.markUnresponsive(3, "silent for 10 s", START);
        assertThat(monitor.expired(END.minusMillis(1))).isEmpty();
        assertThat(monitor.expired(END)).containsExactly(3);
        assertThat(monitor.expired(END.plusSeconds(9))).isEmpty();
        assertThat(monitor.ended(3)).contains("silent for 10 s");
        assertThat(monitor.ended(3)).isEmpty();
    }

    @Test
    void firstReportSetsTimeAndReason() {
        monitor.markUnresponsive(3, "silent for 10 s", START);
        monitor.markUnresponsive(3, "its connection closed", END);
        assertThat(monitor.expired(END)).containsExactly(3);
        assertThat(monitor.ended(3)).contains("silent for 10 s");
    }

    @Test
    void aliveOrExitedWorkerDoesNotExpire() {
        monitor.markUnresponsive(3, "its connection closed", START);
        monitor.markUnresponsive(4, "its connection closed", START);
        monitor.markAlive(3);
        assertThat(monitor.ended(4)).as("it was not killed for it").isEmpty();
        assertThat(monitor.expired(END)).isEmpty();
    }

    @Test
    void overdueWorkerExpiresAtOnce() {
        monitor.markOverdue(3, START);
        monitor.markOverdue(3, END);
        assertThat(monitor.expired(START)).containsExactly(3);
        assertThat(monitor.expired(END)).isEmpty();
        assertThat(monitor.ended(3)).contains("it did not come back as the others did");
    }
}
