package org.horovod4j.runtime.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.horovod4j.testing.DeviceWorlds.device;
import static org.horovod4j.testing.DeviceWorlds.hostValues;
import static org.horovod4j.testing.DeviceWorlds.onDevice;
import static org.horovod4j.testing.DeviceWorlds.onHost;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.AlltoallOptions;
import org.horovod4j.AlltoallResult;
import org.horovod4j.Communicator;
import org.horovod4j.Compressor;
import org.horovod4j.ConfigurationException;
import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.Handle;
import org.horovod4j.HorovodException;
import org.horovod4j.MismatchException;
import org.horovod4j.ReduceOp;
import org.horovod4j.ReducescatterOptions;
import org.horovod4j.Shape;
import org.horovod4j.SparseTensor;
import org.horovod4j.Tensor;
import org.horovod4j.compression.Compression;
import org.horovod4j.testing.DeviceWorlds;
import org.horovod4j.testing.FakeBackendProvider;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/// Collectives on tensors of fake devices.
class DeviceCollectivesTest {
    private static final int LARGE = 3_000_001; // several chunks of the staged backend

    private final FakeBackendProvider fake = new FakeBackendProvider("FAKE");

    private World world(String backend, int size) {
        return DeviceWorlds.of(size, fake).with(Map.of("HOROVOD_GPU_OPERATIONS", backend));
    }

    @ParameterizedTest
    @ValueSource(strings = {"FAKE", "HOST"})
    void allreduceStaysOnTheDevice(String backend) {
        world(backend, 3)
                .run(
                        comm -> {
                            Tensor tensor = onDevice(comm, comm.rank(), 1, -2);
                            Tensor sum = comm.allreduce("sum", tensor, ReduceOp.SUM);
                            assertThat(sum).isSameAs(tensor);
                            assertThat(sum.device()).isEqualTo(device(comm));
                            assertThat(hostValues(comm, sum)).containsExactly(3, 3, -6);

                            Tensor average = onDevice(comm, comm.rank(), 6);
                            Tensor output = onDevice(comm, 0, 0);
                            comm.allreduce(
                                    "average",
                                    average,
                                    output,
                                    AllreduceOptions.average().withPrescale(2).withPostscale(10));
                            assertThat(hostValues(comm, output)).containsExactly(20, 120);
                            assertThat(hostValues(comm, average)).containsExactly(comm.rank(), 6);
                        });
        assertThat(fake.launches()).hasSize(backend.equals("FAKE") ? 6 : 0);
    }

    @ParameterizedTest
    @EnumSource(DataType.class)
    void everyTypeIsReduced(DataType dataType) {
        ReduceOp op = dataType == DataType.BOOL ? ReduceOp.MAX : ReduceOp.SUM;
        DeviceWorlds.of(2, fake)
                .run(
                        comm -> {
                            Tensor onHost = Tensor.zeros(dataType, Shape.of(5));
                            onHost.segment().set(ValueLayout.JAVA_BYTE, 0, (byte) 1);
                            Tensor tensor = onDevice(comm, onHost);
                            comm.allreduce("host", onHost, op);
                            comm.allreduce("device", tensor, op);
                            assertThat(onHost(comm, tensor).segment().mismatch(onHost.segment()))
                                    .isEqualTo(-1);
                        });
        // The fake backend has floats alone, so HOST reduces the others.
        assertThat(fake.launches()).hasSize(dataType.isFloatingPoint() ? 2 : 0);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1, 1_048_576, 1_048_577, LARGE})
    void stagedAllreduceWorksInChunks(int length) {
        world("HOST", 2)
                .run(
                        comm -> {
                            float[] expected = new float[length];
                            float[] mine = new float[length];
                            for (int i = 0; i < length; i++) {
                                mine[i] = i % 1000 + comm.rank();
                                expected[i] = 2 * (i % 1000) + 1;
                            }
                            Tensor tensor = onDevice(comm, mine);
                            comm.allreduce("one", tensor, ReduceOp.SUM);
                            assertThat(hostValues(comm, tensor)).isEqualTo(expected);

                            Tensor halves = onDevice(comm, mine);
                            comm.allreduce(
                                    "half",
                                    halves,
                                    AllreduceOptions.sum().withCompressor(Compression.FP16));
                            assertThat(hostValues(comm, halves)).isEqualTo(expected);
                        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"FAKE", "HOST"})
    void castCompressionIsDoneByTheBackend(String backend) {
        world(backend, 2)
                .run(
                        comm -> {
                            // 70,000 is too large for float16, so the prescale must come first.
                            Tensor tensor = onDevice(comm, 70_000, 1 + 1e-6f);
                            AllreduceOptions options =
                                    AllreduceOptions.sum()
                                            .withPrescale(0.01)
                                            .withPostscale(100)
                                            .withCompressor(Compression.FP16);
                            comm.allreduce("half", tensor, options);
                            assertThat(hostValues(comm, tensor)[0])
                                    .isEqualTo(140_000, within(100f));
                            assertThat(hostValues(comm, tensor)[1]).isEqualTo(2, within(0.01f));
                        });
        if (backend.equals("FAKE")) {
            assertThat(fake.launches())
                    .allMatch(launch -> launch.wireType() == DataType.FLOAT16)
                    .hasSize(2);
        }
    }

    @Test
    void everyOtherCollectiveRunsByTheNextBackend() {
        DeviceWorlds.of(3, fake)
                .run(
                        comm -> {
                            int rank = comm.rank();
                            float[] rows = new float[rank * 2];
                            Arrays.fill(rows, rank);
                            Tensor gathered =
                                    comm.allgather(
                                            "allgather", onDevice(comm, rows).reshape(rank, 2));
                            assertThat(gathered.shape()).isEqualTo(Shape.of(3, 2));
                            assertThat(hostValues(comm, gathered))
                                    .containsExactly(1, 1, 2, 2, 2, 2);

                            Tensor tensor = onDevice(comm, rank, rank + 1);
                            comm.broadcast("broadcast", tensor, 1);
                            assertThat(hostValues(comm, tensor)).containsExactly(1, 2);

                            AlltoallResult exchanged =
                                    comm.alltoall(
                                            "alltoall",
                                            onDevice(comm, 10 * rank, 10 * rank + 1, 10 * rank + 2),
                                            AlltoallOptions.splits(1, 0, 2));
                            assertThat(exchanged.tensor().device()).isEqualTo(device(comm));
                            switch (rank) {
                                case 0 -> {
                                    assertThat(exchanged.receivedSplits()).containsExactly(1, 1, 1);
                                    assertThat(hostValues(comm, exchanged.tensor()))
                                            .containsExactly(0, 10, 20);
                                }
                                case 1 -> assertThat(exchanged.tensor().elementCount()).isZero();
                                default ->
                                        assertThat(hostValues(comm, exchanged.tensor()))
                                                .containsExactly(1, 2, 11, 12, 21, 22);
                            }

                            Tensor mine =
                                    comm.reducescatter(
                                            "reducescatter",
                                            onDevice(comm, 1, 2, 3, 4),
                                            ReducescatterOptions.average());
                            assertThat(hostValues(comm, mine))
                                    .containsExactly(
                                            rank == 0
                                                    ? new float[] {1, 2}
                                                    : new float[] {rank + 2});
                        });
        assertThat(fake.launches())
                .hasSize(3)
                .allMatch(each -> each.collective().equals("broadcast"));
    }

    @Test
    void adasumIsThatOfTheCpu() {
        DeviceWorlds.of(2, fake)
                .run(
                        comm -> {
                            float[] mine = {1 + comm.rank(), 2, -3 * comm.rank()};
                            Tensor tensor = onDevice(comm, mine);
                            comm.allreduce("host", mine, ReduceOp.ADASUM);
                            comm.allreduce("device", tensor, ReduceOp.ADASUM);
                            assertThat(hostValues(comm, tensor)).isEqualTo(mine);
                        });
    }

    @Test
    void tensorsOfOneDeviceAreFusedInPlans() {
        world("FAKE", 2)
                .run(
                        comm -> {
                            for (int step = 0; step < 30; step++) {
                                List<Handle<Tensor>> handles = new ArrayList<>();
                                for (int i = 0; i < 4; i++) {
                                    handles.add(
                                            comm.allreduceAsync(
                                                    "device " + i,
                                                    onDevice(comm, i + comm.rank(), step),
                                                    ReduceOp.SUM));
                                    handles.add(
                                            comm.allreduceAsync(
                                                    "host " + i,
                                                    Tensor.of(new float[] {i, step}),
                                                    ReduceOp.SUM));
                                }
                                for (int i = 0; i < 4; i++) {
                                    assertThat(hostValues(comm, handles.get(2 * i).join()))
                                            .containsExactly(2 * i + 1, 2 * step);
                                    assertThat(handles.get(2 * i + 1).join().toFloatArray())
                                            .containsExactly(2 * i, 2 * step);
                                }
                            }
                        });
        assertThat(fake.launches(0)).isEqualTo(onRank0(fake.launches(1)));
        assertThat(fake.launches(0).getFirst().tensors()).isOne();
        assertThat(fake.launches(0).getLast().tensors()).isEqualTo(4);
    }

    private static List<FakeBackendProvider.Launch> onRank0(
            List<FakeBackendProvider.Launch> launches) {
        return launches.stream()
                .map(
                        each ->
                                new FakeBackendProvider.Launch(
                                        0, each.collective(), each.tensors(), each.wireType()))
                .toList();
    }

    @Test
    void rankThatLeavesAPlanLaunchesNothingThatOthersDoNot() {
        world("FAKE", 3)
                .run(
                        comm -> {
                            for (int step = 0; step < 60; step++) {
                                List<Handle<Tensor>> handles = new ArrayList<>();
                                // Rank 1 begins some steps with another operation, which has no
                                // place
                                // in the plan. The others wait in the batch of "a" then.
                                boolean extra = step % 20 == 19;
                                if (extra && comm.rank() == 1) {
                                    handles.add(submit(comm, "extra"));
                                }
                                handles.add(submit(comm, "a"));
                                handles.add(submit(comm, "b"));
                                if (extra && comm.rank() != 1) {
                                    handles.add(submit(comm, "extra"));
                                }
                                for (Handle<Tensor> handle : handles) {
                                    assertThat(hostValues(comm, handle.join()))
                                            .containsExactly(3, 3);
                                }
                            }
                        });
        assertThat(fake.launches(1)).hasSameSizeAs(fake.launches(0));
        assertThat(fake.launches(2)).hasSameSizeAs(fake.launches(0));
        assertThat(fake.launches(0)).anyMatch(launch -> launch.tensors() == 2);
        assertThat(fake.aborts()).isEmpty();
    }

    private static Handle<Tensor> submit(Communicator comm, String name) {
        return comm.allreduceAsync(name, onDevice(comm, comm.rank(), 1), ReduceOp.SUM);
    }

    @ParameterizedTest
    @ValueSource(strings = {"FAKE", "HOST"})
    void joinedRankContributesNothing(String backend) {
        world(backend, 2)
                .run(
                        comm -> {
                            if (comm.rank() == 0) {
                                Tensor sum = onDevice(comm, 5, 7);
                                comm.allreduce("sum", sum, ReduceOp.SUM);
                                assertThat(hostValues(comm, sum)).containsExactly(5, 7);
                                Tensor least = onDevice(comm, 5, 7);
                                comm.allreduce("min", least, ReduceOp.MIN);
                                assertThat(hostValues(comm, least)).containsExactly(5, 7);
                                Tensor product = onDevice(comm, 5, 7);
                                comm.allreduce("product", product, ReduceOp.PRODUCT);
                                assertThat(hostValues(comm, product)).containsExactly(5, 7);
                                assertThat(
                                                hostValues(
                                                        comm,
                                                        comm.allgather("all", onDevice(comm, 3))))
                                        .containsExactly(3);
                            }
                            comm.join();
                        });
    }

    @Test
    void joinedRankWithoutTheJarEndsTheProcessSet() {
        DeviceWorlds.onRank0(2)
                .run(
                        comm ->
                                assertThatThrownBy(
                                                () -> {
                                                    if (comm.rank() == 0) {
                                                        comm.allreduce(
                                                                "t",
                                                                onDevice(comm, 1),
                                                                ReduceOp.SUM);
                                                    } else {
                                                        comm.join();
                                                    }
                                                })
                                        .isInstanceOf(HorovodException.class)
                                        .hasMessageContaining("Add org.horovod4j:horovod4j-cuda"));
    }

    @Test
    void everyRankChoosesFromWhatAllHavePublished() {
        List<FakeBackendProvider> fakes =
                List.of(
                        new FakeBackendProvider("FAKE").withProcessInfo("host a"),
                        new FakeBackendProvider("FAKE"));
        DeviceWorlds.of(World.of(2), rank -> List.of(fakes.get(rank)))
                .run(comm -> comm.allreduce("t", onDevice(comm, 1), ReduceOp.SUM));
        for (FakeBackendProvider each : fakes) {
            assertThat(each.places())
                    .allSatisfy(
                            places ->
                                    assertThat(places)
                                            .extracting(place -> place.processInfo("FAKE"))
                                            .containsExactly("host a", ""))
                    .isNotEmpty();
        }
    }

    @Test
    void processSetsHaveTheirOwnBackends() {
        world("FAKE", 3)
                .run(
                        comm -> {
                            var pair = comm.addProcessSet(0, 2);
                            Tensor all = onDevice(comm, 1);
                            comm.allreduce("all", all, ReduceOp.SUM);
                            assertThat(hostValues(comm, all)).containsExactly(3);
                            if (comm.rank() != 1) {
                                Tensor two = onDevice(comm, 1);
                                pair.communicator().allreduce("two", two, ReduceOp.SUM);
                                assertThat(hostValues(comm, two)).containsExactly(2);
                            }
                            comm.removeProcessSet(pair);
                        });
        assertThat(fake.launches()).hasSize(5);
    }

    @Test
    void kindsOfDeviceMustBeTheSame() {
        world("FAKE", 3)
                .run(
                        comm -> {
                            Tensor tensor =
                                    comm.rank() == 1
                                            ? Tensor.of(new float[4])
                                            : onDevice(comm, new float[4]);
                            assertThatThrownBy(() -> comm.allreduce("t", tensor, ReduceOp.SUM))
                                    .isInstanceOf(MismatchException.class)
                                    .hasMessage(
                                            """
                                            allreduce of 't': the ranks disagree on its device
                                              cuda:0 on rank 0
                                              host on rank 1
                                              cuda:2 on rank 2
                                            Put it on a device of the same kind on every rank.""");
                            // Nothing was launched, and the ranks continue.
                            Tensor next = onDevice(comm, 1);
                            comm.allreduce("next", next, ReduceOp.SUM);
                            assertThat(hostValues(comm, next)).containsExactly(3);
                        });
    }

    @Test
    void compressionMustBeTheSame() {
        world("FAKE", 2)
                .run(
                        comm -> {
                            AllreduceOptions options =
                                    comm.rank() == 0
                                            ? AllreduceOptions.sum()
                                            : AllreduceOptions.sum()
                                                    .withCompressor(Compression.BF16);
                            assertThatThrownBy(
                                            () -> comm.allreduce("t", onDevice(comm, 1), options))
                                    .isInstanceOf(MismatchException.class)
                                    .hasMessageContainingAll(
                                            "disagree on its compression",
                                            "sent as float32 on rank 0",
                                            "sent as bfloat16 on rank 1");
                        });
    }

    @Test
    void rankUsesOneDeviceInAProcessSet() {
        world("FAKE", 2)
                .run(
                        comm -> {
                            comm.allreduce("t", onDevice(comm, 1), ReduceOp.SUM);
                            Tensor other =
                                    comm.allocate(Device.cuda(3), DataType.FLOAT32, Shape.of(1));
                            assertThatThrownBy(() -> comm.allreduce("t", other, ReduceOp.SUM))
                                    .isInstanceOf(IllegalArgumentException.class)
                                    .hasMessageContainingAll(
                                            "it is on cuda:3",
                                            "this rank has used " + device(comm));
                        });
    }

    @Test
    void missingJarIsNamed() {
        DeviceWorlds.without(2)
                .run(
                        comm -> {
                            Tensor tensor =
                                    Tensor.of(Device.cuda(0), 256, DataType.FLOAT32, Shape.of(1));
                            for (Runnable use :
                                    List.<Runnable>of(
                                            () -> comm.allreduce("t", tensor, ReduceOp.SUM),
                                            () ->
                                                    comm.allocate(
                                                            Device.cuda(0),
                                                            DataType.INT8,
                                                            Shape.of(1)))) {
                                assertThatThrownBy(use::run)
                                        .isInstanceOf(ConfigurationException.class)
                                        .hasMessageContaining(
                                                "Add org.horovod4j:horovod4j-cuda to the dependencies");
                            }
                            comm.allreduce("host", new float[1], ReduceOp.SUM);
                        });
    }

    @Test
    void hostOnlyFeaturesRefuseDeviceTensors() {
        world("FAKE", 1)
                .run(
                        comm -> {
                            Tensor tensor = onDevice(comm, 1, 2);
                            Compressor ofTheProgram =
                                    (communicator, name, whole, op) ->
                                            communicator.allreduceAsync(name, whole, op);
                            assertThatThrownBy(
                                            () ->
                                                    comm.allreduce(
                                                            "t",
                                                            tensor,
                                                            AllreduceOptions.sum()
                                                                    .withCompressor(ofTheProgram)))
                                    .isInstanceOf(IllegalArgumentException.class)
                                    .hasMessageContaining("works in main memory");
                            Tensor rows = tensor.reshape(2, 1);
                            assertThatThrownBy(
                                            () ->
                                                    new SparseTensor(
                                                            Tensor.of(new long[] {0, 1}),
                                                            rows,
                                                            Shape.of(4, 1)))
                                    .isInstanceOf(IllegalArgumentException.class)
                                    .hasMessageContaining("a sparse tensor is in main memory");
                            assertThatThrownBy(tensor::toFloatArray)
                                    .isInstanceOf(IllegalStateException.class)
                                    .hasMessageContaining(
                                            "the CPU cannot access a tensor on cuda:0");
                            assertThatThrownBy(() -> comm.copy(tensor, Tensor.of(new float[3])))
                                    .isInstanceOf(IllegalArgumentException.class)
                                    .hasMessageContaining("number of elements must be the same");
                        });
    }
}
