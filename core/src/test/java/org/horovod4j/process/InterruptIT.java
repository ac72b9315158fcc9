package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.DataType;
import org.horovod4j.Hvd;
import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.option.Options;
import org.horovod4j.option.RendezvousHost;
import org.horovod4j.testsupport.SimulatedHost;
import org.horovod4j.testsupport.SlowCases;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.util.concurrent.locks.LockSupport;

/// Threads of ranks that are interrupted again and again, from `init` to `shutdown`.
class InterruptIT {
    private static final int SIZE = 3;

    /// Does everything that opens links, files or connections, twice, and checks the results.
    static final class Worker {
        private static final long PAUSE_NANOS = 200_000;

        private Worker() {}

        public static void main(String[] args) {
            interruptForever(Thread.currentThread());
            for (int round = 0; round < 2; round++) {
                Hvd.init();
                assertSums(Hvd.communicator().processSet());
                new AllCollectives(Hvd.communicator()).run();
                ProcessSet set = Hvd.addProcessSet(0, SIZE - 1);
                if (set.isIncluded()) {
                    assertSums(set);
                }
                Hvd.describeState();
                Hvd.removeProcessSet(set);
                Hvd.shutdown();
                boolean _ = Thread.interrupted();
                awaitInterrupt();
            }
        }

        /// The interrupt status of the program is left to the program.
        private static void awaitInterrupt() {
            while (!Thread.currentThread().isInterrupted()) {
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }

        private static void interruptForever(Thread thread) {
            Thread.ofPlatform()
                    .daemon()
                    .start(
                            () -> {
                                while (true) {
                                    thread.interrupt();
                                    LockSupport.parkNanos(PAUSE_NANOS);
                                }
                            });
        }

        /// Over memory of the program, and over memory that the ranks of a host share.
        private static void assertSums(ProcessSet set) {
            Tensor shared = set.communicator().allocate(DataType.FLOAT32, Shape.of(300_000));
            for (Tensor tensor : new Tensor[] {Tensor.of(new float[10]), shared}) {
                Tensor sum = set.communicator().allreduce("sum", tensor, ReduceOp.SUM);
                assertThat(sum.toFloatArray()).containsOnly(0);
            }
        }
    }

    @ParameterizedTest(name = "transport {0}, encrypted {1}, rendezvous by {2}")
    @CsvSource({"auto, 0, LAUNCHER"})
    @SlowCases({"tcp, 0, RANK0", "tcp, 1, LAUNCHER"})
    void interruptsEndNothing(String transport, String tls, RendezvousHost server)
            throws Exception {
        assertSucceeds(
                TestJobPlan.of(SIZE, Worker.class)
                        .servedBy(server)
                        .with(Options.TRANSPORT, transport)
                        .with(Options.TLS, tls));
    }

    @Test
    void interruptsEndNothingBetweenHosts() throws Exception {
        try (SimulatedHost alpha = new SimulatedHost();
                SimulatedHost beta = new SimulatedHost()) {
            assertSucceeds(TestJobPlan.of(SIZE, Worker.class).onHosts(alpha, beta));
        }
    }

    private static void assertSucceeds(TestJobPlan plan) throws Exception {
        try (TestJob testJob = plan.start()) {
            testJob.awaitSuccess();
        }
    }
}
