package org.horovod4j.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

import java.util.concurrent.atomic.AtomicInteger;

class PatienceTest {
    private static final int SPINS = 100;
    private static final long YIELDING_NANOS = 300_000;

    private final ManualClock clock = new ManualClock();
    private final AtomicInteger checks = new AtomicInteger();

    private Patience patience(boolean crowded) {
        return new Patience(checks::incrementAndGet, clock, crowded);
    }

    @Test
    void spinsFirstAndAsksNobody() {
        Patience patience = patience(false);
        for (int i = 0; i < SPINS; i++) {
            patience.pause();
        }
        assertThat(checks).hasValue(0);
        patience.pause();
        assertThat(checks).hasValue(1);
    }

    @Test
    void onACrowdedHostItYieldsAtOnce() {
        patience(true).pause();
        assertThat(checks).hasValue(1);
        assertThat(clock.sleeps()).isEmpty();
    }

    @Test
    void sleepsAnEighthOfTheWaitSoFarAndAtMostAMillisecond() {
        Patience patience = patience(false);
        for (int i = 0; i <= SPINS; i++) {
            patience.pause();
        }
        clock.advance(YIELDING_NANOS - 1);
        patience.pause();
        assertThat(clock.sleeps()).isEmpty();
        clock.advance(1);
        patience.pause();
        assertThat(clock.sleeps()).containsExactly(YIELDING_NANOS / 8);
        clock.advance(1_000_000_000);
        patience.pause();
        assertThat(clock.sleeps()).hasSize(2).last().isEqualTo(1_000_000L);
    }

    @Test
    void onACrowdedHostALongWaitDisturbsTheOthersLess() {
        Patience patience = patience(true);
        patience.pause();
        clock.advance(1_000_000_000);
        patience.pause();
        assertThat(clock.sleeps()).containsExactly(20_000_000L);
    }

    @Test
    void aNewWaitBeginsAfresh() {
        Patience patience = patience(true);
        patience.pause();
        clock.advance(1_000_000_000);
        patience.pause();
        assertThat(clock.sleeps()).hasSize(1);
        patience.reset();
        patience.pause();
        assertThat(clock.sleeps()).hasSize(1);
    }

    @Test
    void endsWithWhatLivenessThrows() {
        Patience patience =
                new Patience(
                        () -> {
                            if (checks.incrementAndGet() == 3) {
                                throw new IllegalStateException("rank 1 is gone");
                            }
                        },
                        clock,
                        true);
        patience.pause();
        patience.pause();
        assertThatThrownBy(patience::pause).hasMessage("rank 1 is gone");
    }
}
