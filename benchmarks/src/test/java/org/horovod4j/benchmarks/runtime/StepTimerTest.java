package org.horovod4j.benchmarks.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.benchmarks.report.Spread;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.concurrent.atomic.LongAdder;

class StepTimerTest {
    @Test
    void allRanksMakeTheSameNumberOfSteps() {
        World.run(
                2,
                comm -> {
                    LongAdder steps = new LongAdder();
                    // Ranks that disagreed would wait for each other in the barrier for ever.
                    Runnable step =
                            () -> {
                                comm.barrier();
                                steps.increment();
                            };

                    StepTimer timer = new StepTimer(comm, Duration.ofMillis(50));
                    Spread spread = timer.time(step, timer.stepsOfTurn(step));

                    assertThat(spread.p10()).isPositive().isLessThanOrEqualTo(spread.median());
                    assertThat(spread.median()).isLessThanOrEqualTo(spread.p90());
                    assertThat(comm.allgatherObject("steps", steps.sum()))
                            .containsOnly(steps.sum());
                });
    }
}
