package org.horovod4j.compression;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.horovod4j.testing.DeviceWorlds.hostValues;
import static org.horovod4j.testing.DeviceWorlds.launch;
import static org.horovod4j.testing.DeviceWorlds.onDevice;
import static org.horovod4j.testing.DeviceWorlds.stream;
import static org.horovod4j.testing.DeviceWorlds.write;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.DeviceStream;
import org.horovod4j.Handle;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Tensor;
import org.horovod4j.testing.DeviceWorlds;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.Random;

class DeviceTopKTest {
    private static float[] gradient(int rank, int step, int length) {
        Random random = new Random(31L * rank + step);
        float[] values = new float[length];
        for (int i = 0; i < length; i++) {
            values[i] = (float) random.nextGaussian();
        }
        return values;
    }

    /// Main memory and the device get the same gradients. The values that were not sent count in later
    /// steps, so they must be equal too.
    @ParameterizedTest
    @EnumSource(names = {"SUM", "AVERAGE"})
    void deviceGivesTheBitsOfMainMemory(ReduceOp op) {
        DeviceWorlds.of(3)
                .run(
                        comm -> {
                            TopK onHost = TopK.count(7);
                            TopK onDevice = TopK.count(7);
                            for (int step = 0; step < 6; step++) {
                                float[] gradient = gradient(comm.rank(), step, 100);
                                Tensor expected =
                                        comm.allreduce(
                                                "host",
                                                Tensor.of(gradient.clone()),
                                                AllreduceOptions.of(op).withCompressor(onHost));
                                Tensor actual =
                                        comm.allreduce(
                                                "device",
                                                onDevice(comm, gradient),
                                                AllreduceOptions.of(op).withCompressor(onDevice));
                                assertThat(hostValues(comm, actual))
                                        .isEqualTo(expected.toFloatArray());
                                assertThat(onDevice.residual("device").orElseThrow().toFloatArray())
                                        .isEqualTo(
                                                onHost.residual("host")
                                                        .orElseThrow()
                                                        .toFloatArray());
                            }
                        });
    }

    /// The gradient is computed on a stream, and the stream waits for the sum: the CPU waits for
    /// nothing on the device, and begins the next step before the last one has ended there.
    @Test
    void streamsWaitForEachOther() {
        DeviceWorlds.of(2)
                .run(
                        comm -> {
                            TopK topK = TopK.count(2);
                            AllreduceOptions options = AllreduceOptions.sum().withCompressor(topK);
                            DeviceStream framework = stream(comm);
                            Tensor tensor = onDevice(comm, 0, 0, 0);
                            for (int step = 1; step <= 20; step++) {
                                float value = step;
                                launch(framework, () -> write(tensor, value, -2 * value, 0));
                                Handle<Tensor> sum =
                                        comm.allreduceAsync(
                                                "t", tensor.readyOn(framework), options);
                                sum.awaitOn(framework);
                            }
                            assertThat(hostValues(comm, tensor.readyOn(framework)))
                                    .containsExactly(40, -80, 0);
                        });
    }

    @Test
    void valuesThatAreNotFiniteAreNotKept() {
        DeviceWorlds.of(2)
                .run(
                        comm -> {
                            TopK topK = TopK.count(1);
                            AllreduceOptions options = AllreduceOptions.sum().withCompressor(topK);
                            float infinity = Float.POSITIVE_INFINITY;
                            comm.allreduce("t", onDevice(comm, 1, infinity, infinity), options);
                            assertThat(topK.residual("t").orElseThrow().toFloatArray())
                                    .containsExactly(1, 0, 0);
                        });
    }

    /// The driver and the streams of a rank end with it. What a program keeps may outlive them.
    @Test
    void compressorIsUsedAgainByRanksThatStartAnew() {
        TopK[] ofRanks = {TopK.count(1), TopK.count(1)};
        for (int start = 0; start < 2; start++) {
            DeviceWorlds.of(2)
                    .run(
                            comm -> {
                                TopK topK = ofRanks[comm.rank()];
                                Tensor sum =
                                        comm.allreduce(
                                                "t",
                                                onDevice(comm, 1, 3),
                                                AllreduceOptions.sum().withCompressor(topK));
                                assertThat(hostValues(comm, sum)).containsExactly(0, 6);
                            });
            for (TopK topK : ofRanks) {
                assertThat(topK.residual("t").orElseThrow().toFloatArray()).containsExactly(1, 0);
            }
        }
    }

    @Test
    void resultMayBeInAnotherTensor() {
        DeviceWorlds.of(2)
                .run(
                        comm -> {
                            Tensor input = onDevice(comm, 3, 1);
                            Tensor output = onDevice(comm, 0, 0);
                            comm.allreduce(
                                    "t",
                                    input,
                                    output,
                                    AllreduceOptions.average().withCompressor(TopK.count(1)));
                            assertThat(hostValues(comm, output)).containsExactly(3, 0);
                            assertThat(hostValues(comm, input)).containsExactly(3, 1);
                        });
    }

    @Test
    void prescaleIsAppliedAndPostscaleIsAnError() {
        DeviceWorlds.of(2)
                .run(
                        comm -> {
                            AllreduceOptions options =
                                    AllreduceOptions.sum().withCompressor(TopK.count(1));
                            Tensor tensor = onDevice(comm, 1, 3);
                            Tensor sum =
                                    comm.allreduce(
                                            "t", tensor, options.withScale(new Scale(0.5, 1)));
                            assertThat(hostValues(comm, sum)).containsExactly(0, 3);
                            assertThatThrownBy(
                                            () ->
                                                    comm.allreduce(
                                                            "t",
                                                            tensor,
                                                            options.withScale(new Scale(1, 2))))
                                    .isInstanceOf(IllegalArgumentException.class)
                                    .hasMessageContaining("takes no postscale on cuda:");
                        });
    }
}
