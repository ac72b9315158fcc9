package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.option.Options;
import org.horovod4j.option.RendezvousHost;
import org.horovod4j.testsupport.SlowCases;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.util.List;

/// A rank that ends its program while the others want to continue.
class RankLeaveIT {
    private static final int OPERATIONS = 50;

    /// Sums a few times. The given rank then leaves or fails.
    static final class Worker {
        private Worker() {}

        public static void main(String[] args) {
            Hvd.init();
            for (int i = 0; i < OPERATIONS; i++) {
                Hvd.allreduce("together", new float[10_007], ReduceOp.SUM);
            }
            if (Hvd.rank() != Integer.parseInt(args[0])) {
                CallResult.report(
                        "pending", () -> Hvd.allreduce("alone", new float[7], ReduceOp.SUM));
                CallResult.report("next", () -> Hvd.barrier());
                Hvd.shutdown(); // without it, this rank would be a loss for the slower one
            } else if (args[1].equals("shutdown")) {
                Hvd.shutdown();
            } else {
                throw new IllegalStateException("a fault of the program");
            }
        }
    }

    @ParameterizedTest(name = "rank {0}, transport {1}, server in {2}")
    @CsvSource({"0, auto, RANK0", "2, tcp, LAUNCHER"})
    @SlowCases({"1, auto, LAUNCHER", "2, tcp, RANK0", "0, tcp, LAUNCHER"})
    void anUncaughtExceptionIsALoss(int leaver, String transport, RendezvousHost server)
            throws IOException {
        try (TestJob testJob = plan(leaver, "fail", transport, server).start()) {
            List<TestRankProcess> others = testJob.othersThan(leaver);
            testJob.awaitExits(testJob.ranks(), TestJob.TIMEOUT);
            assertThat(testJob.rank(leaver).exitCode()).isOne();
            for (TestRankProcess rank : others) {
                PeerLossAssertions.assertNamesLostRank(
                        rank.callResult("pending"), leaver, TestJobPlan.HOST);
                PeerLossAssertions.assertNamesLostRank(
                        rank.callResult("next"), leaver, TestJobPlan.HOST);
            }
        }
    }

    /// Operations that all ranks ran stay valid, although the leaving rank may exit before the
    /// others have completed them.
    @ParameterizedTest(name = "rank {0}, transport {1}, server in {2}")
    @CsvSource({"1, auto, LAUNCHER", "0, tcp, RANK0"})
    @SlowCases({"0, auto, RANK0", "2, tcp, RANK0", "0, tcp, LAUNCHER"})
    void anOrderlyLeaveIsNoLoss(int leaver, String transport, RendezvousHost server)
            throws IOException {
        try (TestJob testJob = plan(leaver, "shutdown", transport, server).start()) {
            testJob.awaitSuccess();
            for (TestRankProcess rank : testJob.othersThan(leaver)) {
                for (String occasion : List.of("pending", "next")) {
                    CallResult callResult = rank.callResult(occasion);
                    assertThat(callResult.type())
                            .as(callResult.message())
                            .isEqualTo("ShutDownException");
                    assertThat(callResult.message())
                            .contains("rank %d on %s".formatted(leaver, TestJobPlan.HOST));
                }
            }
        }
    }

    private static TestJobPlan plan(
            int leaver, String how, String transport, RendezvousHost server) {
        return TestJobPlan.of(3, Worker.class, Integer.toString(leaver), how)
                .with(Options.TRANSPORT, transport)
                .servedBy(server);
    }
}
