package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.option.Options;
import org.horovod4j.option.RuntimeOptions;
import org.horovod4j.testsupport.SimulatedHost;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Duration;
import java.util.List;

/// Operations that wait in vain, because ranks have gone different ways.
class StallIT {
    /// Rank 0 sums what nobody else does, rank 1 what only it does, and rank 2 does something else.
    static final class Worker {
        private Worker() {}

        public static void main(String[] args) {
            Hvd.init();
            float[] values = new float[1_009];
            for (int step = 0; step < 10; step++) { // so that it happens in the middle of a plan
                Hvd.allreduce("values", values, ReduceOp.SUM);
            }
            System.out.println("ready");
            if (Hvd.rank() == 2) {
                TestSignal.await();
                System.out.println("state " + Hvd.describeState().replace("\n", " | "));
                TestSignal.await();
            }
            String name = List.of("weights", "bias", "values").get(Hvd.rank());
            CallResult.report("stalled", () -> Hvd.allreduce(name, values, ReduceOp.SUM));
        }
    }

    /// T-47.
    @ParameterizedTest(name = "transport {0}")
    @ValueSource(strings = {"auto", "tcp"})
    void stallWarningNamesMissingRanksThenJobShutsDown(String transport) throws Exception {
        warnAndEnd(TestJobPlan.of(3, Worker.class).with(Options.TRANSPORT, transport));
    }

    @Test
    void stallWarningCoversOtherHost() throws Exception {
        try (SimulatedHost alpha = new SimulatedHost();
                SimulatedHost beta = new SimulatedHost()) {
            warnAndEnd(TestJobPlan.of(3, Worker.class).onHosts(alpha, beta));
        }
    }

    private static void warnAndEnd(TestJobPlan plan) throws Exception {
        try (TestJob testJob = withShortTimeouts(plan).start()) {
            testJob.awaitLine("ready");
            testJob.rank(2).sendSignal();
            assertThat(testJob.rank(2).awaitLine("state "))
                    .contains("rank 0", "allreduce of 'weights'", "missing on ranks 1, 2")
                    .contains("allreduce of 'bias'", "missing on ranks 0, 2")
                    .contains("has nothing in flight: its program is doing something else");
            testJob.awaitExits(testJob.othersThan(2), Duration.ofSeconds(45));
            assertThat(testJob.rank(0).output())
                    .containsPattern(
                            "allreduce of 'weights'.* has waited for 2 s: submitted on rank 0, missing on ranks 1, 2")
                    .containsPattern("rank 1 has in flight allreduce of 'bias'")
                    .contains("rank 2 has nothing in flight: its program is doing something else")
                    .contains("Let every rank make the same calls");
            assertThat(testJob.rank(1).output())
                    .containsPattern(
                            "allreduce of 'bias'.* has waited for 2 s: submitted on rank 1, missing on ranks 0, 2");
            testJob.rank(2).sendSignal(); // who hears of it when it comes back
            testJob.awaitExits(testJob.ranks(), TestJob.PATIENCE);
            for (TestRankProcess rank : testJob.ranks()) {
                assertThat(rank.callResult("stalled").message())
                        .contains("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS=6", "has waited for 6 s")
                        .contains("rank 2 has nothing in flight");
            }
        }
    }

    /// Ranks 0 and 1 make a call that all ranks make together; rank 2 does something else until it
    /// is told.
    static final class MismatchedCaller {
        private MismatchedCaller() {}

        public static void main(String[] args) {
            Hvd.init();
            float[] values = new float[1_009];
            for (int step = 0; step < 10; step++) {
                Hvd.allreduce("values", values, ReduceOp.SUM);
            }
            System.out.println("ready");
            if (Hvd.rank() == 2) {
                TestSignal.await();
            }
            switch (args[0]) {
                case "join" -> CallResult.report("stalled", Hvd::join);
                case "make" -> CallResult.report("stalled", () -> Hvd.addProcessSet(0, 2));
                default -> throw new IllegalArgumentException(args[0]);
            }
        }
    }

    @ParameterizedTest(name = "{0}, transport {1}")
    @CsvSource(
            delimiter = '|',
            textBlock =
                    """
                    join | auto | join has waited for %d s, in which no rank did anything
                    join | tcp  | join has waited for %d s, in which no rank did anything
                    make | auto | making process sets [[0, 2]] has waited for %d s
                    make | tcp  | making process sets [[0, 2]] has waited for %d s
                    """)
    void stalledCollectiveCallsAreReported(String call, String transport, String story)
            throws Exception {
        watchCall(
                TestJobPlan.of(3, MismatchedCaller.class, call).with(Options.TRANSPORT, transport),
                story);
    }

    @ParameterizedTest(name = "{0}")
    @CsvSource(
            delimiter = '|',
            textBlock =
                    """
                    join | join has waited for %d s, in which no rank did anything
                    make | making process sets [[0, 2]] has waited for %d s
                    """)
    void stalledCollectiveCallsAreReportedBetweenHosts(String call, String story) throws Exception {
        try (SimulatedHost alpha = new SimulatedHost();
                SimulatedHost beta = new SimulatedHost()) {
            watchCall(TestJobPlan.of(3, MismatchedCaller.class, call).onHosts(alpha, beta), story);
        }
    }

    private static void watchCall(TestJobPlan plan, String story) throws Exception {
        try (TestJob testJob = withShortTimeouts(plan).start()) {
            testJob.awaitLine("ready");
            testJob.awaitExits(testJob.othersThan(2), Duration.ofSeconds(45));
            assertThat(testJob.rank(0).output())
                    .contains(story.formatted(2), "called on ranks 0, 1, missing on rank 2")
                    .contains("rank 2 has nothing in flight: its program is doing something else")
                    .contains("Let every rank make the same calls");
            testJob.rank(2).sendSignal();
            testJob.awaitExits(testJob.ranks(), TestJob.PATIENCE);
            for (TestRankProcess rank : testJob.ranks()) {
                assertThat(rank.callResult("stalled").message())
                        .contains("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS=6", story.formatted(6));
            }
        }
    }

    private static TestJobPlan withShortTimeouts(TestJobPlan plan) {
        return plan.with(RuntimeOptions.STALL_CHECK_TIME, "2")
                .with(RuntimeOptions.STALL_SHUTDOWN_TIME, "6");
    }

    /// Rank 0 joins at once; the others train on for several times the warning time.
    static final class EarlyJoin {
        private EarlyJoin() {}

        public static void main(String[] args) {
            Hvd.init();
            float[] values = new float[1_009];
            if (Hvd.rank() > 0) {
                System.out.println("training");
                while (!TestSignal.isReceived()) {
                    Hvd.allreduce("values", values, ReduceOp.SUM);
                }
            }
            Hvd.join();
            System.out.println("done");
        }
    }

    @Test
    void joinedRankCausesNoStallWarning() throws Exception {
        TestJobPlan plan =
                TestJobPlan.of(3, EarlyJoin.class)
                        .with(RuntimeOptions.STALL_CHECK_TIME, "1")
                        .with(RuntimeOptions.STALL_SHUTDOWN_TIME, "2");
        try (TestJob testJob = plan.start()) {
            testJob.rank(1).awaitLine("training");
            long begin = System.nanoTime();
            await().pollInterval(Duration.ofMillis(100))
                    .until(() -> System.nanoTime() - begin > Duration.ofSeconds(5).toNanos());
            testJob.rank(1).sendSignal();
            testJob.rank(2).sendSignal();
            testJob.awaitSuccess();
            assertThat(testJob.rank(0).output()).contains("done").doesNotContain("has waited");
        }
    }
}
