package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.option.BackendOptions;
import org.horovod4j.option.RuntimeOptions;
import org.horovod4j.testing.GatherBackendProvider;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.util.List;

/// Ranks that are processes find a backend for main memory on their class path.
class HostBackendIT {
    /// Reduces for some steps, and counts the calls of the backend.
    static final class Worker {
        private Worker() {}

        public static void main(String[] args) {
            Hvd.init();
            for (int step = 0; step < 40; step++) {
                float[] tensor = new float[1000];
                tensor[step] = Hvd.rank();
                Hvd.allreduce("tensor", tensor, ReduceOp.SUM);
                assertThat(tensor[step]).isEqualTo(1);
            }
            System.out.println(GatherBackendProvider.takeCalls().size() + " calls");
            Hvd.shutdown();
        }
    }

    @Test
    void processesUseTheBackendThatAnOptionNames() throws IOException {
        TestJobPlan plan =
                TestJobPlan.of(2, Worker.class)
                        .with(BackendOptions.CPU_OPERATIONS, "gather")
                        .with(RuntimeOptions.LOG_LEVEL, "info");
        try (TestJob testJob = plan.start()) {
            testJob.awaitLine("40 calls");
            testJob.awaitSuccess();
            assertThat(testJob.rank(0).output())
                    .contains(
                            "Process set 0 in main memory: allreduce, allgather, broadcast by"
                                    + " GATHER (for tests); adasum, alltoall, reducescatter by CPU"
                                    + " (shared memory and TCP)");
        }
    }

    /// Joins, and says why it cannot.
    static final class FailingWorker {
        private FailingWorker() {}

        public static void main(String[] args) {
            CallResult.report("init", Hvd::init);
        }
    }

    @Test
    void unknownNameEndsTheStartOnAllRanks() throws IOException {
        TestJobPlan plan =
                TestJobPlan.of(2, FailingWorker.class).with(BackendOptions.CPU_OPERATIONS, "MPI");
        try (TestJob testJob = plan.start()) {
            testJob.awaitExits(testJob.ranks(), TestJob.TIMEOUT);
            for (TestRankProcess rank : List.of(testJob.rank(0), testJob.rank(1))) {
                assertThat(rank.callResult("init").type()).isEqualTo("ConfigurationException");
                assertThat(rank.callResult("init").message())
                        .contains("HOROVOD_CPU_OPERATIONS is MPI, which some ranks cannot use")
                        .contains("There are: CPU, GATHER.");
            }
        }
    }
}
