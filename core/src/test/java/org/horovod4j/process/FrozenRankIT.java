package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.option.Options;
import org.horovod4j.option.RendezvousHost;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.time.Duration;
import java.util.List;

/// A stopped rank: its process exists and its connections stay open, but it sends nothing.
class FrozenRankIT {
    private static final int HEARTBEAT_SECONDS = 8;

    private static final Duration LIMIT = PeerLossAssertions.LIMIT.plusSeconds(HEARTBEAT_SECONDS);

    /// Sums until a call fails.
    static final class Worker {
        private Worker() {}

        public static void main(String[] args) {
            Hvd.init();
            float[] values = new float[10_007];
            Hvd.allreduce("values", values, ReduceOp.SUM);
            System.out.println("ready");
            CallResult.report(
                    "pending",
                    () -> {
                        while (true) {
                            Hvd.allreduce("values", values, ReduceOp.SUM);
                        }
                    });
        }
    }

    @ParameterizedTest(name = "rank {0}, transport {1}, server in {2}")
    @CsvSource({"1, auto, LAUNCHER", "2, tcp, RANK0", "0, auto, RANK0", "0, tcp, LAUNCHER"})
    void frozenRankIsDeclaredLostAndFailsWhenResumed(
            int victim, String transport, RendezvousHost server) throws Exception {
        TestJobPlan plan =
                TestJobPlan.of(3, Worker.class)
                        .with(Options.TRANSPORT, transport)
                        .with(Options.HEARTBEAT_TIMEOUT, Integer.toString(HEARTBEAT_SECONDS))
                        .servedBy(server);
        try (TestJob testJob = plan.start()) {
            testJob.awaitLine("ready");
            TestRankProcess frozen = testJob.rank(victim);
            frozen.freeze();
            List<TestRankProcess> others = testJob.othersThan(victim);
            PeerLossAssertions.print(
                    "rank " + victim + " stopped", testJob.awaitExits(others, LIMIT));
            for (TestRankProcess rank : others) {
                CallResult callResult = rank.callResult("pending");
                PeerLossAssertions.assertNamesLostRank(callResult, victim, TestJobPlan.HOST);
                assertThat(callResult.message()).contains("silent for " + HEARTBEAT_SECONDS + " s");
            }

            frozen.resume();
            testJob.awaitExits(List.of(frozen), LIMIT);
            CallResult callResult = frozen.callResult("pending");
            assertThat(callResult.type()).as(callResult.message()).isEqualTo("PeerLostException");
            if (server == RendezvousHost.LAUNCHER || victim != 0) {
                assertThat(callResult.lostRank()).as(callResult.message()).isEqualTo(victim);
                assertThat(callResult.message()).contains("the other ranks declared it lost");
            }
        }
    }
}
