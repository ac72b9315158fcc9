package org.horovod4j.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.horovod4j.testing.DeviceWorlds.hostValues;
import static org.horovod4j.testing.DeviceWorlds.launch;
import static org.horovod4j.testing.DeviceWorlds.onDevice;
import static org.horovod4j.testing.DeviceWorlds.stream;
import static org.horovod4j.testing.DeviceWorlds.write;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.DeviceStream;
import org.horovod4j.Handle;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.compression.Compression;
import org.horovod4j.option.BackendOptions;
import org.horovod4j.option.Options;
import org.horovod4j.option.RuntimeOptions;
import org.horovod4j.testsupport.SlowCases;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/// Tensors on fake devices in ranks that are processes: their driver is found by `ServiceLoader`, and
/// the backend `HOST` of core exchanges them.
class DeviceIT {
    /// Trains for some steps: gradients are computed on a stream, and the stream waits for the sums.
    static final class Worker {
        private static final int TENSORS = 6;

        private Worker() {}

        public static void main(String[] args) {
            Hvd.init();
            Communicator comm = Hvd.communicator();
            DeviceStream framework = stream(comm);
            List<Tensor> gradients = new ArrayList<>();
            for (int i = 0; i < TENSORS; i++) {
                gradients.add(onDevice(comm, new float[1000 * i + 1]));
            }
            for (int step = 0; step < 40; step++) {
                List<Handle<Tensor>> handles = new ArrayList<>();
                for (int i = 0; i < TENSORS; i++) {
                    Tensor gradient = gradients.get(i);
                    float[] values = new float[1000 * i + 1];
                    Arrays.fill(values, step + i + comm.rank());
                    launch(framework, () -> write(gradient, values));
                    handles.add(
                            Hvd.allreduceAsync(
                                    "gradient " + i,
                                    gradient.readyOn(framework),
                                    AllreduceOptions.sum()
                                            .withCompressor(
                                                    i % 2 == 0
                                                            ? Compression.NONE
                                                            : Compression.FP16)));
                }
                handles.forEach(handle -> handle.awaitOn(framework));
                for (int i = 0; i < TENSORS; i++) {
                    float[] expected = new float[1000 * i + 1];
                    Arrays.fill(expected, 2 * (step + i) + 1);
                    assertThat(hostValues(comm, gradients.get(i).readyOn(framework)))
                            .isEqualTo(expected);
                }
            }
            Tensor rows = onDevice(comm, new float[comm.rank() + 1]);
            assertThat(Hvd.allgather("rows", rows).elementCount()).isEqualTo(3);
            assertLargeTensorIsReduced(comm);
            System.out.println("sums are right");
            Hvd.shutdown();
        }

        /// In several chunks, in memory that is added for them.
        private static void assertLargeTensorIsReduced(Communicator comm) {
            float[] values = new float[6_000_000];
            float[] expected = new float[values.length];
            for (int i = 0; i < values.length; i++) {
                values[i] = i % 10_007 + comm.rank();
                expected[i] = 2 * (i % 10_007) + 1;
            }
            Tensor tensor = onDevice(comm, values);
            Hvd.allreduce("large", tensor, ReduceOp.SUM);
            assertThat(hostValues(comm, tensor)).isEqualTo(expected);
        }
    }

    @ParameterizedTest(name = "transport {0}")
    @ValueSource(strings = "auto")
    @SlowCases("tcp")
    void processesExchangeTensorsOfTheirDevices(String transport) throws IOException {
        TestJobPlan plan =
                TestJobPlan.of(2, Worker.class)
                        .with(Options.TRANSPORT, transport)
                        .with(RuntimeOptions.LOG_LEVEL, "info");
        try (TestJob testJob = plan.start()) {
            testJob.awaitLine("sums are right");
            testJob.awaitSuccess();
            assertThat(testJob.rank(0).output())
                    .contains("Process set 0 on cuda:0 (a fake device): allreduce,")
                    .contains("by HOST (copies through main memory)");
        }
    }

    /// Reduces once, and again on the host.
    static final class DisagreeingWorker {
        private DisagreeingWorker() {}

        public static void main(String[] args) {
            Hvd.init();
            Tensor tensor = onDevice(Hvd.communicator(), 1);
            CallResult.report("device", () -> Hvd.allreduce("device", tensor, ReduceOp.SUM));
            CallResult.report("host", () -> Hvd.allreduce("host", new float[1], ReduceOp.SUM));
            Hvd.shutdown();
        }
    }

    @Test
    void differentOptionsAreReportedOnAllRanks() throws IOException {
        TestJobPlan plan =
                TestJobPlan.of(2, DisagreeingWorker.class)
                        .with(1, BackendOptions.GPU_OPERATIONS, "HOST");
        try (TestJob testJob = plan.start()) {
            testJob.awaitSuccess();
            for (TestRankProcess rank : testJob.ranks()) {
                assertThat(rank.callResult("device").type()).isEqualTo("ConfigurationException");
                assertThat(rank.callResult("device").message())
                        .contains("HOROVOD_GPU_OPERATIONS differs between ranks")
                        .contains("not set on rank 0")
                        .contains("HOST on rank 1");
                assertThat(rank.callResult("host").type()).isEqualTo(CallResult.WENT_WELL);
            }
        }
    }

    /// All ranks select the same device, as programs do that forget the local rank.
    static final class SharingWorker {
        private SharingWorker() {}

        public static void main(String[] args) {
            Hvd.init();
            Tensor tensor = Hvd.allocate(Device.cuda(0), DataType.FLOAT32, Shape.of(10));
            Hvd.allreduce("tensor", tensor, ReduceOp.SUM);
            Hvd.shutdown();
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"0", "1"})
    void ranksThatShareADeviceAreNamedUnlessTheyMay(String mayShare) throws IOException {
        TestJobPlan plan =
                TestJobPlan.of(2, SharingWorker.class).with(Options.SHARE_GPUS, mayShare);
        try (TestJob testJob = plan.start()) {
            testJob.awaitSuccess();
            String warning = "ranks 0, 1 use the same GPU, fake-0 of host " + TestJobPlan.HOST;
            assertThat(testJob.rank(0).output().contains(warning)).isEqualTo(mayShare.equals("0"));
        }
    }

    /// Reduces until the test kills a rank.
    static final class EndlessWorker {
        private EndlessWorker() {}

        public static void main(String[] args) {
            Hvd.init();
            Tensor tensor = onDevice(Hvd.communicator(), new float[100_000]);
            CallResult.report(
                    "endless",
                    () -> {
                        for (int step = 0; ; step++) {
                            Hvd.allreduce("tensor", tensor, ReduceOp.AVERAGE);
                            if (step == 20) {
                                System.out.println("running");
                            }
                        }
                    });
        }
    }

    @Test
    void killedRankIsReported() throws IOException {
        try (TestJob testJob = TestJobPlan.of(2, EndlessWorker.class).start()) {
            testJob.awaitLine("running");
            testJob.rank(1).kill();
            testJob.awaitExits(List.of(testJob.rank(0)), TestJob.TIMEOUT);
            PeerLossAssertions.assertNamesLostRank(
                    testJob.rank(0).callResult("endless"), 1, TestJobPlan.HOST);
        }
    }
}
