package org.horovod4j.process;

import org.horovod4j.DataType;
import org.horovod4j.Handle;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.option.Options;
import org.horovod4j.option.RendezvousHost;
import org.horovod4j.testsupport.SlowCases;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.util.List;

/// `kill -9` of one of three ranks, while it works and while it is idle: the pending call and the
/// next call of every other rank fail soon and name the lost rank.
class RankKilledIT {
    private static final int SIZE = 3;

    /// Sums 64 MiB in a loop.
    static final class AllreduceWorker {
        private AllreduceWorker() {}

        public static void main(String[] args) {
            Hvd.init();
            Tensor tensor = Tensor.zeros(DataType.FLOAT32, Shape.of(16 << 20));
            Hvd.allreduce("first", tensor, ReduceOp.SUM);
            System.out.println("ready");
            CallResult.report(
                    "pending",
                    () -> {
                        while (true) {
                            Hvd.allreduce("again", tensor, ReduceOp.SUM);
                        }
                    });
            CallResult.report("next", () -> Hvd.barrier());
        }
    }

    /// Waits in a collective for the given rank, with another collective queued.
    static final class WaitingWorker {
        private WaitingWorker() {}

        public static void main(String[] args) {
            Hvd.init();
            if (Hvd.rank() == Integer.parseInt(args[0])) {
                System.out.println("ready");
                TestSignal.await();
                throw new IllegalStateException("this rank should have been killed");
            }
            Handle<Tensor> behind =
                    Hvd.allreduceAsync("first", Tensor.of(new float[7]), ReduceOp.SUM);
            System.out.println("ready");
            CallResult.report("queued", () -> Hvd.allreduce("second", new float[7], ReduceOp.SUM));
            CallResult.report("pending", () -> behind.join());
            CallResult.report("next", () -> Hvd.barrier());
        }
    }

    /// Makes no collective call until the test sends a signal.
    static final class ComputingWorker {
        private ComputingWorker() {}

        public static void main(String[] args) {
            Hvd.init();
            Hvd.barrier();
            System.out.println("ready");
            TestSignal.await();
            CallResult.report("pending", () -> Hvd.allreduce("late", new float[7], ReduceOp.SUM));
            CallResult.report("next", () -> Hvd.barrier());
        }
    }

    @ParameterizedTest(name = "rank {0}, transport {1}, server in {2}")
    @CsvSource({"0, auto, LAUNCHER", "2, tcp, RANK0"})
    @SlowCases({
        "0, auto, RANK0", "1, auto, RANK0", "2, auto, LAUNCHER",
        "0, tcp, RANK0", "0, tcp, LAUNCHER", "1, tcp, LAUNCHER",
    })
    void killDuringLargeAllreduceFailsOtherRanks(
            int victim, String transport, RendezvousHost server) throws IOException {
        TestJobPlan plan =
                TestJobPlan.of(SIZE, AllreduceWorker.class).with(Options.TRANSPORT, transport);
        try (TestJob testJob = plan.servedBy(server).start()) {
            testJob.awaitLine("ready");
            testJob.rank(victim).kill();
            assertOthersEnd(testJob, victim, "in an allreduce by " + transport);
        }
    }

    @ParameterizedTest(name = "rank {0}, transport {1}, server in {2}")
    @CsvSource({"1, auto, RANK0", "0, tcp, RANK0"})
    @SlowCases({"0, auto, RANK0", "0, auto, LAUNCHER", "2, tcp, LAUNCHER"})
    void killWhileOthersWaitFailsOtherRanks(int victim, String transport, RendezvousHost server)
            throws IOException {
        TestJobPlan plan =
                TestJobPlan.of(SIZE, WaitingWorker.class, Integer.toString(victim))
                        .with(Options.TRANSPORT, transport);
        try (TestJob testJob = plan.servedBy(server).start()) {
            testJob.awaitLine("ready");
            testJob.rank(victim).kill();
            assertOthersEnd(testJob, victim, "awaited by " + transport);
            for (TestRankProcess rank : testJob.othersThan(victim)) {
                PeerLossAssertions.assertNamesLostRank(
                        rank.callResult("queued"), victim, TestJobPlan.HOST);
            }
        }
    }

    @ParameterizedTest(name = "rank {0}, transport {1}, server in {2}")
    @CsvSource({"0, auto, RANK0", "2, tcp, RANK0"})
    @SlowCases({"0, auto, LAUNCHER", "1, auto, LAUNCHER", "0, tcp, RANK0"})
    void killDuringComputationFailsOtherRanks(int victim, String transport, RendezvousHost server)
            throws IOException {
        TestJobPlan plan =
                TestJobPlan.of(SIZE, ComputingWorker.class).with(Options.TRANSPORT, transport);
        try (TestJob testJob = plan.servedBy(server).start()) {
            testJob.awaitLine("ready");
            testJob.rank(victim).kill();
            for (TestRankProcess rank : testJob.othersThan(victim)) {
                rank.sendSignal();
            }
            assertOthersEnd(testJob, victim, "computing, joined by " + transport);
        }
    }

    private static void assertOthersEnd(TestJob testJob, int victim, String where) {
        List<TestRankProcess> others = testJob.othersThan(victim);
        PeerLossAssertions.print(
                "rank %d killed %s".formatted(victim, where),
                testJob.awaitExits(others, PeerLossAssertions.LIMIT));
        for (TestRankProcess rank : others) {
            PeerLossAssertions.assertNamesLostRank(
                    rank.callResult("pending"), victim, TestJobPlan.HOST);
            PeerLossAssertions.assertNamesLostRank(
                    rank.callResult("next"), victim, TestJobPlan.HOST);
        }
    }
}
