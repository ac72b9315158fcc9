package org.horovod4j.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.benchmarks.report.Percentiles;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.concurrent.atomic.LongAdder;

class CollectiveTimerTest {
    @Test
    void allRanksMakeTheSameCallsAndReadTheSameTimes() {
        World.run(
                2,
                comm -> {
                    LongAdder calls = new LongAdder();
                    // If the ranks made different numbers of calls, they would deadlock in the
                    // barrier.
                    Runnable collective =
                            () -> {
                                comm.barrier();
                                calls.increment();
                            };

                    Percentiles percentiles =
                            new CollectiveTimer(comm, Duration.ofMillis(50)).time(collective);

                    assertThat(percentiles.p10())
                            .isPositive()
                            .isLessThanOrEqualTo(percentiles.median());
                    assertThat(percentiles.median()).isLessThanOrEqualTo(percentiles.p90());
                    assertThat(comm.allgatherObject("calls", calls.sum()))
                            .containsOnly(calls.sum());
                    assertThat(comm.allgatherObject("median", percentiles.median()))
                            .containsOnly(percentiles.median());
                });
    }
}
