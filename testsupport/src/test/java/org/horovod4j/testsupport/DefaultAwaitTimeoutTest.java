package org.horovod4j.testsupport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

class DefaultAwaitTimeoutTest {
    @Test
    void defaultTimeoutIsLongerThanThatOfAwaitility() {
        AtomicLong millisLeft = new AtomicLong();
        await().pollDelay(Duration.ZERO)
                .conditionEvaluationListener(
                        condition -> millisLeft.set(condition.getRemainingTimeInMS()))
                .until(() -> true);
        assertThat(millisLeft)
                .hasValueGreaterThan(Duration.ofSeconds(10).toMillis()) // Awaitility's default
                .hasValueLessThanOrEqualTo(DefaultAwaitTimeout.TIMEOUT.toMillis());
    }
}
