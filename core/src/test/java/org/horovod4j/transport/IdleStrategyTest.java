package org.horovod4j.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

import java.util.concurrent.atomic.AtomicInteger;

class IdleStrategyTest {
    private static final int SPINS = 100;
    private static final long YIELDING_NANOS = 300_000;

    private final ManualClock clock = new ManualClock();
    private final AtomicInteger checks = new AtomicInteger();

    private IdleStrategy idleStrategy(boolean oversubscribed) {
        return new IdleStrategy(checks::incrementAndGet, clock, oversubscribed);
    }

    @Test
    void spinsFirstWithoutLivenessCheck() {
        IdleStrategy idleStrategy = idleStrategy(false);
        for (int i = 0; i < SPINS; i++) {
            idleStrategy.idle();
        }
        assertThat(checks).hasValue(0);
        idleStrategy.idle();
        assertThat(checks).hasValue(1);
    }

    @Test
    void yieldsImmediatelyOnOversubscribedHost() {
        idleStrategy(true).idle();
        assertThat(checks).hasValue(1);
        assertThat(clock.sleeps()).isEmpty();
    }

    @Test
    void sleepsAnEighthOfTheWaitSoFarAndAtMostAMillisecond() {
        IdleStrategy idleStrategy = idleStrategy(false);
        for (int i = 0; i <= SPINS; i++) {
            idleStrategy.idle();
        }
        clock.advance(YIELDING_NANOS - 1);
        idleStrategy.idle();
        assertThat(clock.sleeps()).isEmpty();
        clock.advance(1);
        idleStrategy.idle();
        assertThat(clock.sleeps()).containsExactly(YIELDING_NANOS / 8);
        clock.advance(1_000_000_000);
        idleStrategy.idle();
        assertThat(clock.sleeps()).hasSize(2).last().isEqualTo(1_000_000L);
    }

    @Test
    void sleepsLongerOnOversubscribedHost() {
        IdleStrategy idleStrategy = idleStrategy(true);
        idleStrategy.idle();
        clock.advance(1_000_000_000);
        idleStrategy.idle();
        assertThat(clock.sleeps()).containsExactly(20_000_000L);
    }

    @Test
    void resetStartsANewWait() {
        IdleStrategy idleStrategy = idleStrategy(true);
        idleStrategy.idle();
        clock.advance(1_000_000_000);
        idleStrategy.idle();
        assertThat(clock.sleeps()).hasSize(1);
        idleStrategy.reset();
        idleStrategy.idle();
        assertThat(clock.sleeps()).hasSize(1);
    }

    @Test
    void livenessExceptionEndsTheWait() {
        IdleStrategy idleStrategy =
                new IdleStrategy(
                        () -> {
                            if (checks.incrementAndGet() == 3) {
                                throw new IllegalStateException("rank 1 is gone");
                            }
                        },
                        clock,
                        true);
        idleStrategy.idle();
        idleStrategy.idle();
        assertThatThrownBy(idleStrategy::idle).hasMessage("rank 1 is gone");
    }
}
