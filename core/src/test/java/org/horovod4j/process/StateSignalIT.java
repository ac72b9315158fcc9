package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.option.RuntimeOptions;
import org.horovod4j.testsupport.Processes;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;

import sun.misc.Signal;

import java.time.Duration;

/// A signal makes a rank of a job that hangs log the state of all ranks.
class StateSignalIT {
    /// Rank 0 waits for an operation that rank 1 submits only after a signal.
    static final class Worker {
        private Worker() {}

        public static void main(String[] args) {
            if (args.length > 0) {
                listen();
            }
            Hvd.init();
            System.out.println("ready");
            if (Hvd.rank() == 1) {
                TestSignal.await();
            }
            Hvd.allreduce("weights", new float[5], ReduceOp.SUM);
            Hvd.shutdown();
        }

        /// Installs a handler, as another library would.
        private static void listen() {
            var _ = Signal.handle(new Signal("URG"), _ -> System.out.println("mine too"));
        }
    }

    private static void ask(TestJob testJob, int rank) throws Exception {
        testJob.rank(rank).signal("URG");
    }

    /// Signals a rank until it logs these words: rank 0 may submit after the first signal.
    private static void askUntilLogged(TestJob testJob, int rank, String words) {
        await("rank " + rank + " logs '" + words + "'")
                .atMost(TestJob.TIMEOUT)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(500))
                .until(
                        () -> {
                            boolean logged = testJob.rank(rank).output().contains(words);
                            if (!logged) {
                                ask(testJob, rank);
                            }
                            return logged;
                        });
    }

    @Test
    void signalledRankLogsStateOfAllRanks() throws Exception {
        try (TestJob testJob = TestJobPlan.of(2, Worker.class).start()) {
            testJob.awaitLine("ready");
            askUntilLogged(testJob, 1, "allreduce of 'weights' is missing on rank 1");
            testJob.rank(1)
                    .awaitWords("has nothing in flight: its program is doing something else");
            assertThat(testJob.rank(1).output())
                    .contains("SIGURG received; the state of all ranks:")
                    .containsPattern("process set 0, .*has in flight allreduce of 'weights'");
            assertThat(testJob.rank(0).output()).doesNotContain("SIGURG");
            testJob.rank(1).sendSignal();
            testJob.awaitSuccess();
        }
    }

    @Test
    void previousSignalHandlerIsStillCalled() throws Exception {
        try (TestJob testJob = TestJobPlan.of(2, Worker.class, "own handler").start()) {
            testJob.awaitLine("ready");
            askUntilLogged(testJob, 0, "allreduce of 'weights' is missing on rank 1");
            testJob.rank(0).awaitLine("mine too");
            testJob.rank(1).sendSignal();
            testJob.awaitSuccess();
        }
    }

    @Test
    void signalNoneInstallsNoHandler() throws Exception {
        TestJobPlan plan =
                TestJobPlan.of(2, Worker.class, "own handler")
                        .with(RuntimeOptions.STATE_SIGNAL, "none");
        try (TestJob testJob = plan.start()) {
            testJob.awaitLine("ready");
            ask(testJob, 0);
            testJob.rank(0).awaitLine("mine too");
            testJob.rank(1).sendSignal();
            testJob.awaitSuccess();
            assertThat(testJob.rank(0).output()).doesNotContain("SIGURG");
        }
    }

    /// A job of one rank.
    static final class SingleProcess {
        private SingleProcess() {}

        public static void main(String[] args) {
            Hvd.init();
            System.out.println("rank " + Hvd.rank());
            Hvd.shutdown();
        }
    }

    @Test
    void runtimeWithoutSignalSupportStillWorks() throws Exception {
        assertThat(
                        Processes.output(
                                TestJvm.of(SingleProcess.class)
                                        .onClassPathOf(Hvd.class, SingleProcess.class)
                                        .with("--limit-modules", "java.base")
                                        .with("--enable-native-access=ALL-UNNAMED")
                                        .words()))
                .contains("rank 0")
                .doesNotContain("NoClassDefFoundError");
    }
}
