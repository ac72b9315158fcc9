package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.option.Options;
import org.horovod4j.option.RendezvousHost;
import org.horovod4j.option.RuntimeOptions;
import org.horovod4j.testsupport.SlowCases;
import org.horovod4j.testsupport.TcpSockets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.io.IOException;

/// Every collective, between processes.
class CollectivesIT {
    /// Runs every collective, then waits for a signal so that the test can inspect the process.
    static final class Worker {
        private Worker() {}

        public static void main(String[] args) {
            Hvd.init();
            new AllCollectives(Hvd.communicator()).run();
            System.out.println("done");
            TestSignal.await();
            Hvd.shutdown();
        }
    }

    /// Sums large arrays while helper threads share the work.
    static final class HelpedWorker {
        private static final int ELEMENTS = 1 << 20;

        private HelpedWorker() {}

        public static void main(String[] arguments) {
            Hvd.init();
            for (int step = 1; step <= 5; step++) {
                float[] values = new float[ELEMENTS];
                for (int i = 0; i < ELEMENTS; i++) {
                    values[i] = (Hvd.rank() + 1) * (step + i % 1000);
                }
                Hvd.allreduce("values", values, ReduceOp.SUM);
                for (int i = 0; i < ELEMENTS; i++) {
                    if (values[i] != 3 * (step + i % 1000)) {
                        throw new AssertionError("element %d is %f".formatted(i, values[i]));
                    }
                }
            }
            long helpers =
                    Thread.getAllStackTraces().keySet().stream()
                            .filter(thread -> thread.getName().startsWith("hvd-helper-"))
                            .count();
            System.out.println(helpers + " helpers");
            Hvd.shutdown();
        }
    }

    @Test
    void helperThreadsShareTheWorkOfLargeSums() throws IOException {
        TestJobPlan plan =
                TestJobPlan.of(2, HelpedWorker.class)
                        .compiledFully()
                        .with(RuntimeOptions.HELPER_THREADS, "2");
        try (TestJob testJob = plan.start()) {
            testJob.awaitLine("2 helpers");
            testJob.awaitSuccess();
        }
    }

    @Test
    void streamingStoresMatchNaiveLoop() throws IOException {
        TestJobPlan plan =
                TestJobPlan.of(3, Worker.class)
                        .compiledFully()
                        .with(RuntimeOptions.HELPER_THREADS, "0")
                        .with(RuntimeOptions.STREAMING_STORES, "always");
        try (TestJob testJob = plan.start()) {
            finish(testJob);
        }
    }

    @ParameterizedTest(name = "{0} ranks, transport {1}, server in {2}")
    @CsvSource({"3, auto, RANK0", "4, tcp, LAUNCHER"})
    @SlowCases({
        "2, auto, LAUNCHER",
        "4, auto, LAUNCHER",
        "2, tcp, RANK0",
        "3, tcp, LAUNCHER",
        "4, tcp, RANK0",
    })
    void collectivesMatchNaiveLoop(int size, String transport, RendezvousHost server)
            throws IOException {
        TestJobPlan plan =
                TestJobPlan.of(size, Worker.class)
                        .compiledFully()
                        .with(Options.TRANSPORT, transport)
                        .servedBy(server);
        try (TestJob testJob = plan.start()) {
            finish(testJob);
        }
    }

    /// Links open when they are first needed. Ranks that share memory need one socket, for
    /// liveness.
    @Test
    void sixteenProcessesOfOneHostNeedOneConnectionEach() throws IOException {
        try (TestJob testJob = TestJobPlan.of(16, Worker.class).start()) {
            testJob.awaitLine("done");
            for (TestRankProcess rank : testJob.ranks()) {
                TcpSockets sockets = TcpSockets.of(rank.pid());
                assertThat(sockets.established())
                        .as("connections")
                        .hasSize(1)
                        .extracting(TcpSockets.Socket::remotePort)
                        .containsOnlyOnce(testJob.rendezvousPort());
                assertThat(sockets.listening()).as("listeners").hasSize(1);
            }
            finish(testJob);
        }
    }

    private static void finish(TestJob testJob) throws IOException {
        testJob.awaitLine("done");
        for (TestRankProcess rank : testJob.ranks()) {
            rank.sendSignal();
        }
        testJob.awaitSuccess();
    }
}
