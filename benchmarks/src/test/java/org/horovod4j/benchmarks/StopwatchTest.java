package org.horovod4j.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.benchmarks.report.Spread;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.concurrent.atomic.LongAdder;

class StopwatchTest {
    @Test
    void allRanksMakeTheSameCallsAndReadTheSameTimes() {
        World.run(
                2,
                comm -> {
                    LongAdder calls = new LongAdder();
                    // Ranks that disagreed would wait for each other in the barrier for ever.
                    Runnable collective =
                            () -> {
                                comm.barrier();
                                calls.increment();
                            };

                    Spread spread = new Stopwatch(comm, Duration.ofMillis(50)).time(collective);

                    assertThat(spread.p10()).isPositive().isLessThanOrEqualTo(spread.median());
                    assertThat(spread.median()).isLessThanOrEqualTo(spread.p90());
                    assertThat(comm.allgatherObject("calls", calls.sum()))
                            .containsOnly(calls.sum());
                    assertThat(comm.allgatherObject("median", spread.median()))
                            .containsOnly(spread.median());
                });
    }
}
