package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.horovod4j.HorovodException;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.option.Options;
import org.horovod4j.option.RuntimeOptions;
import org.horovod4j.testsupport.SimulatedHost;
import org.horovod4j.testsupport.SlowCases;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/// Operations that never complete, because ranks make different calls.
class StallIT {
    /// The seconds in a warning of [#withShortTimeouts]. A busy machine warns late.
    private static final String WARNING_SECONDS = "[1-7]";

    /// The seconds in its reason for a shutdown.
    private static final String SHUTDOWN_SECONDS = "([89]|\\d\\d+)";

    /// Each rank reduces a tensor that no other rank submits.
    static final class Worker {
        private static final int MAX_POLLS = 30_000;

        private Worker() {}

        public static void main(String[] args) {
            Hvd.init();
            float[] values = new float[1_009];
            for (int step = 0; step < 10; step++) { // the stall happens while a plan is locked
                Hvd.allreduce("values", values, ReduceOp.SUM);
            }
            System.out.println("ready");
            if (Hvd.rank() == 2) {
                System.out.println("state " + stateWithBothPending().replace("\n", " | "));
                TestSignal.await();
            }
            String name = List.of("weights", "bias", "values").get(Hvd.rank());
            reportStalled(() -> Hvd.allreduce(name, values, ReduceOp.SUM));
        }

        /// The state when rank 0 knows that ranks 0 and 1 have submitted their tensors.
        private static String stateWithBothPending() {
            String state = "";
            for (int poll = 0; poll < MAX_POLLS; poll++) {
                state = Hvd.describeState();
                if (state.contains("allreduce of 'weights' is missing on ranks 1, 2")
                        && state.contains("allreduce of 'bias' is missing on ranks 0, 2")) {
                    return state;
                }
                LockSupport.parkNanos(1_000_000);
            }
            throw new AssertionError("ranks 0 and 1 do not wait: " + state);
        }
    }

    @ParameterizedTest(name = "transport {0}")
    @ValueSource(strings = "auto")
    @SlowCases("tcp")
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
            assertThat(testJob.rank(2).awaitLine("state "))
                    .contains("rank 0", "allreduce of 'weights'", "missing on ranks 1, 2")
                    .contains("allreduce of 'bias'", "missing on ranks 0, 2")
                    .contains("has nothing in flight: its program is doing something else");
            testJob.awaitExits(testJob.othersThan(2), Duration.ofSeconds(45));
            assertThat(testJob.rank(0).output())
                    .containsPattern(
                            "allreduce of 'weights'.* has waited for "
                                    + WARNING_SECONDS
                                    + " s: submitted on rank 0, missing on ranks 1, 2")
                    .containsPattern("rank 1 has in flight allreduce of 'bias'")
                    .contains("rank 2 has nothing in flight: its program is doing something else")
                    .contains("Let every rank make the same calls");
            assertThat(testJob.rank(1).output())
                    .containsPattern(
                            "allreduce of 'bias'.* has waited for "
                                    + WARNING_SECONDS
                                    + " s: submitted on rank 1, missing on ranks 0, 2");
            testJob.rank(2).sendSignal(); // its next call fails too
            testJob.awaitExits(testJob.ranks(), TestJob.TIMEOUT);
            for (TestRankProcess rank : testJob.ranks()) {
                assertThat(rank.callResult("stalled").message())
                        .contains("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS=8")
                        .containsPattern("has waited for " + SHUTDOWN_SECONDS + " s")
                        .contains("rank 2 has nothing in flight");
            }
        }
    }

    /// Ranks 0 and 1 make a call that needs all ranks. Rank 2 makes it after a signal of the test.
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
                case "join" -> reportStalled(Hvd::join);
                case "fail" -> reportStalled(() -> Hvd.failStep("bad batch"));
                case "add" -> reportStalled(() -> Hvd.addProcessSet(0, 2));
                default -> throw new IllegalArgumentException(args[0]);
            }
        }
    }

    @ParameterizedTest(name = "{0}")
    @CsvSource(
            delimiter = '|',
            textBlock =
                    """
                    join | join has waited for %s s, in which no rank did anything
                    fail | a failed step has not ended for %s s: failStep
                    add  | adding process sets \\[\\[0, 2]] has waited for %s s
                    """)
    void stalledCollectiveCallsAreReported(String call, String pattern) throws Exception {
        watchCall(TestJobPlan.of(3, MismatchedCaller.class, call), pattern);
    }

    @Tag("slow")
    @ParameterizedTest(name = "{0}")
    @CsvSource(
            delimiter = '|',
            textBlock =
                    """
                    join | join has waited for %s s, in which no rank did anything
                    add  | adding process sets \\[\\[0, 2]] has waited for %s s
                    """)
    void stalledCollectiveCallsAreReportedBetweenHosts(String call, String pattern)
            throws Exception {
        try (SimulatedHost alpha = new SimulatedHost();
                SimulatedHost beta = new SimulatedHost()) {
            watchCall(
                    TestJobPlan.of(3, MismatchedCaller.class, call).onHosts(alpha, beta), pattern);
        }
    }

    private static void watchCall(TestJobPlan plan, String pattern) throws Exception {
        try (TestJob testJob = withShortTimeouts(plan).start()) {
            testJob.awaitLine("ready");
            testJob.awaitExits(testJob.othersThan(2), Duration.ofSeconds(45));
            assertThat(testJob.rank(0).output())
                    .containsPattern(pattern.formatted(WARNING_SECONDS))
                    .contains("called on ranks 0, 1, missing on rank 2")
                    .contains("rank 2 has nothing in flight: its program is doing something else")
                    .contains("Let every rank make the same calls");
            testJob.rank(2).sendSignal();
            testJob.awaitExits(testJob.ranks(), TestJob.TIMEOUT);
            for (TestRankProcess rank : testJob.ranks()) {
                assertThat(rank.callResult("stalled").message())
                        .contains("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS=8")
                        .containsPattern(pattern.formatted(SHUTDOWN_SECONDS));
            }
        }
    }

    /// Reports the exception of a call, which must show where the program waited.
    private static void reportStalled(Runnable call) {
        CallResult.report(
                "stalled",
                () -> {
                    try {
                        call.run();
                    } catch (HorovodException e) {
                        assertThat(e.getStackTrace())
                                .extracting(StackTraceElement::getClassName)
                                .contains(StallIT.class.getName());
                        throw e;
                    }
                });
    }

    private static TestJobPlan withShortTimeouts(TestJobPlan plan) {
        return plan.with(RuntimeOptions.STALL_CHECK_TIME, "1")
                .with(RuntimeOptions.STALL_SHUTDOWN_TIME, "8");
    }

    /// Rank 0 joins at once. The others train for longer than the warning and shutdown times.
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
                        .with(RuntimeOptions.STALL_CHECK_TIME, "2")
                        .with(RuntimeOptions.STALL_SHUTDOWN_TIME, "4");
        try (TestJob testJob = plan.start()) {
            testJob.rank(1).awaitLine("training");
            await().pollDelay(Duration.ofSeconds(5)).until(() -> true);
            testJob.rank(1).sendSignal();
            testJob.rank(2).sendSignal();
            testJob.awaitSuccess();
            assertThat(testJob.rank(0).output()).contains("done").doesNotContain("has waited");
        }
    }
}
