package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.option.Options;
import org.horovod4j.option.RendezvousHost;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;
import java.util.List;

/// Jobs that init and shut down several times, and a job of one rank.
class InitShutdownIT {
    /// Joins three worlds, one after the other.
    static final class ReinitWorker {
        private ReinitWorker() {}

        public static void main(String[] args) {
            for (int world = 0; world < 3; world++) {
                assertThat(Hvd.isInitialized()).isFalse();
                Hvd.init();
                Hvd.init(); // a second call does nothing
                System.out.println("rank %d of %d".formatted(Hvd.rank(), Hvd.size()));
                float[] sum = {1};
                // Of all operations, the last must survive the haste of a rank that leaves at once.
                for (int i = 0; i < 10; i++) {
                    sum[0] = 1;
                    Hvd.allreduce("sum", sum, ReduceOp.SUM);
                }
                assertThat(sum).containsExactly(Hvd.size());
                Hvd.shutdown();
            }
        }
    }

    /// A program outside of any job.
    static final class SingleProcess {
        private SingleProcess() {}

        public static void main(String[] args) {
            Hvd.init();
            new AllCollectives(Hvd.communicator()).run();
            System.out.println(
                    "rank %d of %d, %d of %d on this host, %d of %d hosts"
                            .formatted(
                                    Hvd.rank(),
                                    Hvd.size(),
                                    Hvd.localRank(),
                                    Hvd.localSize(),
                                    Hvd.crossRank(),
                                    Hvd.crossSize()));
            Hvd.shutdown();
        }
    }

    /// Init and shutdown can be repeated in one process.
    @ParameterizedTest(name = "transport {0}, server in {1}")
    @CsvSource({"auto, LAUNCHER", "auto, RANK0", "tcp, LAUNCHER", "tcp, RANK0"})
    void processCanReinitialize(String transport, RendezvousHost server) throws IOException {
        TestJobPlan plan =
                TestJobPlan.of(3, ReinitWorker.class)
                        .with(Options.TRANSPORT, transport)
                        .servedBy(server);
        try (TestJob testJob = plan.start()) {
            testJob.awaitSuccess();
            for (TestRankProcess rank : testJob.ranks()) {
                String line = "rank %d of 3".formatted(rank.rank());
                assertThat(rank.lines().stream().filter(line::equals)).hasSize(3);
            }
        }
    }

    @Test
    void processWithoutVariablesIsWorldOfSizeOne() throws IOException {
        ProcessBuilder builder =
                new ProcessBuilder(TestRankCommand.of(List.of(), SingleProcess.class, List.of()));
        builder.environment().keySet().removeIf(name -> name.startsWith("HOROVOD_"));
        TestRankProcess process = new TestRankProcess(0, builder);
        try {
            process.awaitLine("rank 0 of 1, 0 of 1 on this host, 0 of 1 hosts");
            process.exit().join();
            assertThat(process.exitCode()).isZero();
        } finally {
            process.destroy();
        }
    }
}
