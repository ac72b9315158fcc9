package org.horovod4j.benchmarks.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.benchmarks.report.Percentiles;
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
                    // If the ranks made different numbers of steps, they would deadlock in the
                    // barrier.
                    Runnable step =
                            () -> {
                                comm.barrier();
                                steps.increment();
                            };

                    StepTimer timer = new StepTimer(comm, Duration.ofMillis(50));
                    Percentiles percentiles = timer.time(step, timer.warmUp(step));

                    assertThat(percentiles.p10())
                            .isPositive()
                            .isLessThanOrEqualTo(percentiles.median());
                    assertThat(percentiles.median()).isLessThanOrEqualTo(percentiles.p90());
                    assertThat(comm.allgatherObject("steps", steps.sum()))
                            .containsOnly(steps.sum());
                });
    }
}
