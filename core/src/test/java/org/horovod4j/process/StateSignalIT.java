package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.option.RuntimeOptions;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.lang.reflect.Proxy;

/// A job that hangs is asked from outside what it is doing.
class StateSignalIT {
    /// Rank 0 waits for what rank 1 does not submit until it is told to.
    static final class Worker {
        private Worker() {}

        public static void main(String[] args) throws ReflectiveOperationException {
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

        /// As another library would, but in reflection, for javac warns of the class.
        private static void listen() throws ReflectiveOperationException {
            Class<?> signal = Class.forName("sun.misc.Signal");
            Class<?> handler = Class.forName("sun.misc.SignalHandler");
            Object mine =
                    Proxy.newProxyInstance(
                            Worker.class.getClassLoader(),
                            new Class<?>[] {handler},
                            (_, _, _) -> {
                                System.out.println("mine too");
                                return null;
                            });
            var _ =
                    signal.getMethod("handle", signal, handler)
                            .invoke(
                                    null,
                                    signal.getConstructor(String.class).newInstance("URG"),
                                    mine);
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
}
