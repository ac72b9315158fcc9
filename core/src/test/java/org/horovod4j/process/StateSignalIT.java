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
                Cue.await();
            }
            Hvd.allreduce("weights", new float[5], ReduceOp.SUM);
            Hvd.shutdown();
        }

        /// As another library would.
        private static void listen() {
            var _ = Signal.handle(new Signal("URG"), _ -> System.out.println("mine too"));
        }
    }

    private static void ask(Job job, int rank) throws IOException {
        Processes.signal("URG", job.rank(rank).pid());
    }

    @Test
    void theLogOfTheRankThatIsAskedShowsAllRanks() throws IOException {
        try (Job job = JobPlan.of(2, Worker.class).start()) {
            job.awaitLine("ready");
            ask(job, 1);
            job.rank(1).awaitWords("SIGURG asks what all ranks are doing");
            job.rank(1).awaitWords("allreduce of 'weights' is missing on rank 1");
            assertThat(job.rank(1).output())
                    .containsPattern("process set 0, .*has in flight allreduce of 'weights'")
                    .contains("has nothing in flight: its program is doing something else");
            assertThat(job.rank(0).output()).doesNotContain("SIGURG");
            job.rank(1).cue();
            job.awaitSuccess();
        }
    }

    @Test
    void aHandlerThatWasThereBeforeHearsTheSignalToo() throws IOException {
        try (Job job = JobPlan.of(2, Worker.class, "own handler").start()) {
            job.awaitLine("ready");
            ask(job, 0);
            job.rank(0).awaitWords("allreduce of 'weights' is missing on rank 1");
            job.rank(0).awaitLine("mine too");
            job.rank(1).cue();
            job.awaitSuccess();
        }
    }

    @Test
    void aSignalIsLeftAloneIfAskedFor() throws IOException {
        JobPlan plan =
                JobPlan.of(2, Worker.class, "own handler")
                        .with(RuntimeOptions.STATE_SIGNAL, "none");
        try (Job job = plan.start()) {
            job.awaitLine("ready");
            ask(job, 0);
            job.rank(0).awaitLine("mine too");
            job.rank(1).cue();
            job.awaitSuccess();
            assertThat(job.rank(0).output()).doesNotContain("SIGURG");
        }
    }

    /// Joins a world of its own.
    static final class Alone {
        private Alone() {}

        public static void main(String[] args) {
            Hvd.init();
            System.out.println("rank " + Hvd.rank());
            Hvd.shutdown();
        }
    }

    @Test
    void aJavaWithoutSignalsGoesWithout() throws Exception {
        assertThat(
                        OtherJava.run(
                                "",
                                Alone.class,
                                "--limit-modules",
                                "java.base",
                                "--enable-native-access=ALL-UNNAMED"))
                .contains("rank 0")
                .doesNotContain("NoClassDefFoundError");
    }
}
