package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.option.Options;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

/// The CPU time of ranks that wait.
class IdleCpuIT {
    private static final int LATE = 3;
    private static final Duration SPAN = Duration.ofSeconds(4);

    /// A share of one core. The benchmark reports the real value on a quiet machine.
    private static final double MOST = 0.25;

    /// Sums. Rank 3 joins in late.
    static final class Worker {
        private Worker() {}

        public static void main(String[] args) {
            Hvd.init();
            Hvd.barrier();
            System.out.println("ready");
            if (Hvd.rank() == LATE) {
                TestSignal.await();
            }
            Hvd.allreduce("late", new float[10_007], ReduceOp.SUM);
            Hvd.shutdown();
        }
    }

    @ParameterizedTest(name = "transport {0}")
    @ValueSource(strings = {"auto", "tcp"})
    void waitingRanksUseLittleCpu(String transport) throws IOException {
        TestJobPlan plan =
                TestJobPlan.of(LATE + 1, Worker.class).with(Options.TRANSPORT, transport);
        try (TestJob testJob = plan.start()) {
            testJob.awaitLine("ready");
            long start = System.nanoTime();
            Map<TestRankProcess, Duration> before = new HashMap<>();
            for (TestRankProcess rank : testJob.othersThan(LATE)) {
                before.put(rank, cpuTime(rank));
            }
            await().atMost(TestJob.TIMEOUT).until(() -> System.nanoTime() - start > SPAN.toNanos());
            before.forEach(
                    (rank, then) -> {
                        double nanos = cpuTime(rank).minus(then).toNanos();
                        double share = nanos / (System.nanoTime() - start);
                        System.out.println(
                                "rank %d waited by %s and used %.1f %% of a core"
                                        .formatted(rank.rank(), transport, 100 * share));
                        assertThat(share).isLessThan(MOST);
                    });
            testJob.rank(LATE).sendSignal();
            testJob.awaitSuccess();
        }
    }

    private static Duration cpuTime(TestRankProcess rank) {
        return rank.jvm().info().totalCpuDuration().orElseThrow();
    }
}
