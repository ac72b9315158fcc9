package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.testsupport.SimulatedHost;
import org.horovod4j.testsupport.TcpSockets;
import org.junit.jupiter.api.Test;

import java.util.List;

/// Two hosts with two ranks each: shared memory within a host, sockets between hosts.
class MultiHostIT {
    /// Runs every collective, then sums until a rank is lost or the test sends a signal.
    static final class Worker {
        private Worker() {}

        public static void main(String[] args) {
            Hvd.init();
            new AllCollectives(Hvd.communicator()).run();
            System.out.println(
                    "%d of %d on host %d of %d"
                            .formatted(
                                    Hvd.localRank(),
                                    Hvd.localSize(),
                                    Hvd.crossRank(),
                                    Hvd.crossSize()));
            float[] values = new float[100_003];
            CallResult.report(
                    "pending",
                    () -> {
                        boolean enough = false;
                        while (!enough) {
                            values[0] = TestSignal.isReceived() ? 1 : 0;
                            Hvd.allreduce("values", values, ReduceOp.MAX);
                            enough = values[0] > 0;
                        }
                    });
        }
    }

    @Test
    void sharedMemoryWithinHostAndTcpBetweenHosts() throws Exception {
        try (SimulatedHost alpha = new SimulatedHost();
                SimulatedHost beta = new SimulatedHost();
                TestJob testJob = plan(alpha, beta).start()) {
            for (TestRankProcess rank : testJob.ranks()) {
                rank.awaitLine(
                        "%d of 2 on host %d of 2".formatted(rank.rank() % 2, rank.rank() / 2));
            }
            for (TestRankProcess rank : testJob.ranks()) {
                assertThat(TcpSockets.of(rank.pid()).established())
                        .as(
                                "connections of rank %d, more than the one of a single host",
                                rank.rank())
                        .hasSizeGreaterThan(1);
            }
            testJob.rank(0).sendSignal();
            testJob.awaitSuccess();
            assertThat(testJob.ranks())
                    .extracting(rank -> rank.callResult("pending").type())
                    .containsOnly(CallResult.WENT_WELL);
        }
    }

    @Test
    void lossOnOneHostIsReportedOnBoth() throws Exception {
        try (SimulatedHost alpha = new SimulatedHost();
                SimulatedHost beta = new SimulatedHost();
                TestJob testJob = plan(alpha, beta).start()) {
            for (TestRankProcess rank : testJob.ranks()) {
                rank.awaitLine("%d of 2".formatted(rank.rank() % 2));
            }
            testJob.rank(3).kill();
            List<TestRankProcess> others = testJob.othersThan(3);
            PeerLossAssertions.print(
                    "rank 3 of two hosts", testJob.awaitExits(others, PeerLossAssertions.LIMIT));
            for (TestRankProcess rank : others) {
                PeerLossAssertions.assertNamesLostRank(rank.callResult("pending"), 3, "beta");
            }
        }
    }

    private static TestJobPlan plan(SimulatedHost alpha, SimulatedHost beta) {
        return TestJobPlan.of(4, Worker.class).onHosts(alpha, beta);
    }
}
