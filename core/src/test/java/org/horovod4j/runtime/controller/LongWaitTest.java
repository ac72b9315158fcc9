package org.horovod4j.runtime.controller;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.transport.ManualClock;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

class LongWaitTest {
    private static final long ALMOST_LONG = 250_000_000;

    private final ManualClock clock = new ManualClock();
    private final List<String> told = new ArrayList<>();
    private final LongWait wait =
            new LongWait(clock, (operation, stamp) -> told.add(operation + " as " + stamp));

    @Test
    void isToldOnceItHasLastedAWhileAndNotAgain() {
        wait.begin(1, 5);
        wait.check();
        clock.advance(ALMOST_LONG);
        wait.check();
        assertThat(told).isEmpty();
        clock.advance(1);
        wait.check();
        wait.check();
        assertThat(told).containsExactly("1 as 5");
    }

    @Test
    void countsFromTheFirstWaitOfEachOperation() {
        wait.begin(1, 5);
        wait.check();
        clock.advance(ALMOST_LONG);
        wait.begin(2, 6);
        clock.advance(ALMOST_LONG);
        wait.check();
        clock.advance(ALMOST_LONG);
        wait.check();
        assertThat(told).isEmpty();
        clock.advance(1);
        wait.check();
        assertThat(told).containsExactly("2 as 6");
    }

    @Test
    void nothingIsToldBeforeTheFirstOperation() {
        wait.check();
        clock.advance(10 * ALMOST_LONG);
        wait.check();
        assertThat(told).isEmpty();
    }
}
