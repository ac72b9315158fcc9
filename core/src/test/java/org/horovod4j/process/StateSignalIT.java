package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.option.RuntimeOptions;
import org.junit.jupiter.api.Test;

import sun.misc.Signal;

import java.io.IOException;

/// A job that hangs is asked from outside what it is doing.
class StateSignalIT {
    /// Rank 0 waits for what rank 1 does not submit until it is told to.
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

        /// As another library would.
        private static void listen() {
            var _ = Signal.handle(new Signal("URG"), _ -> System.out.println("mine too"));
        }
    }

    private static void ask(TestJob testJob, int rank) throws IOException {
        OsProcesses.signal("URG", testJob.rank(rank).pid());
    }

    @Test
    void signalledRankLogsStateOfAllRanks() throws IOException {
        try (TestJob testJob = TestJobPlan.of(2, Worker.class).start()) {
            testJob.awaitLine("ready");
            ask(testJob, 1);
            testJob.rank(1).awaitWords("SIGURG asks what all ranks are doing");
            testJob.rank(1).awaitWords("allreduce of 'weights' is missing on rank 1");
            assertThat(testJob.rank(1).output())
                    .containsPattern("process set 0, .*has in flight allreduce of 'weights'")
                    .contains("has nothing in flight: its program is doing something else");
            assertThat(testJob.rank(0).output()).doesNotContain("SIGURG");
            testJob.rank(1).sendSignal();
            testJob.awaitSuccess();
        }
    }

    @Test
    void previousSignalHandlerIsStillCalled() throws IOException {
        try (TestJob testJob = TestJobPlan.of(2, Worker.class, "own handler").start()) {
            testJob.awaitLine("ready");
            ask(testJob, 0);
            testJob.rank(0).awaitWords("allreduce of 'weights' is missing on rank 1");
            testJob.rank(0).awaitLine("mine too");
            testJob.rank(1).sendSignal();
            testJob.awaitSuccess();
        }
    }

    @Test
    void signalNoneInstallsNoHandler() throws IOException {
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

    /// Joins a world of its own.
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
                        ForkedJava.run(
                                "",
                                SingleProcess.class,
                                "--limit-modules",
                                "java.base",
                                "--enable-native-access=ALL-UNNAMED"))
                .contains("rank 0")
                .doesNotContain("NoClassDefFoundError");
    }
}
