package org.horovod4j.runtime.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;
import static org.awaitility.Awaitility.await;
import static org.horovod4j.testing.DeviceWorlds.hostValues;
import static org.horovod4j.testing.DeviceWorlds.launch;
import static org.horovod4j.testing.DeviceWorlds.onDevice;
import static org.horovod4j.testing.DeviceWorlds.onHost;
import static org.horovod4j.testing.DeviceWorlds.stream;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.DataType;
import org.horovod4j.DeviceStream;
import org.horovod4j.Handle;
import org.horovod4j.PeerLostException;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.compression.Compression;
import org.horovod4j.testing.DeviceWorlds;
import org.horovod4j.testing.FakeBackendProvider;
import org.horovod4j.testing.FakeBackendProvider.Launch;
import org.horovod4j.testing.World;
import org.horovod4j.testsupport.SlowCases;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;

/// Allreduce by a fake backend inside simulated hosts, and by the CPU between them.
class HierarchicalAllreduceTest {
    private final FakeBackendProvider fake =
            new FakeBackendProvider("FAKE").withReducescatterAndAllgather();

    private World world(int size, int hosts) {
        return world(World.of(size).hosts(hosts));
    }

    private World world(World world) {
        return DeviceWorlds.of(world, _ -> List.of(fake))
                .with(Map.of("HOROVOD_HIERARCHICAL_ALLREDUCE", "1"));
    }

    private void assertHierarchical() {
        assertThat(fake.launches())
                .extracting(Launch::collective)
                .containsOnly("reducescatter", "allgather");
    }

    @ParameterizedTest(name = "{0} ranks on {1} hosts, {2}, {3} floats")
    @CsvSource({"4, 2, LOCAL, 1", "4, 2, LOCAL, 7", "6, 3, LOCAL, 1000", "6, 2, SHM, 10007"})
    @SlowCases({"4, 2, SHM, 9000001", "6, 2, LOCAL, 2200001"}) // several chunks, the last not full
    void everyRankHasTheSum(int size, int hosts, World.Transport transport, int length) {
        world(World.of(size).hosts(hosts).via(transport))
                .run(
                        comm -> {
                            float[] mine = new float[length];
                            float[] expected = new float[length];
                            for (int i = 0; i < length; i++) {
                                mine[i] = i % 1000 + comm.rank();
                                expected[i] = size * (i % 1000) + size * (size - 1) / 2f;
                            }
                            Tensor tensor = onDevice(comm, mine);
                            comm.allreduce("sum", tensor, ReduceOp.SUM);
                            assertThat(hostValues(comm, tensor)).isEqualTo(expected);
                        });
        assertHierarchical();
    }

    @Test
    void scalesAveragesAndCompresses() {
        world(4, 2)
                .run(
                        comm -> {
                            Tensor average = onDevice(comm, comm.rank(), 6, -1);
                            comm.allreduce(
                                    "average",
                                    average,
                                    AllreduceOptions.average().withPrescale(2).withPostscale(10));
                            assertThat(hostValues(comm, average)).containsExactly(30, 120, -20);

                            Tensor max = onDevice(comm, comm.rank(), -comm.rank());
                            comm.allreduce("max", max, ReduceOp.MAX);
                            assertThat(hostValues(comm, max)).containsExactly(3, 0);

                            // 70,000 is too large for float16, so the prescale must come first
                            Tensor half = onDevice(comm, 70_000, 1 + 1e-6f);
                            comm.allreduce(
                                    "half",
                                    half,
                                    AllreduceOptions.sum()
                                            .withPrescale(0.01)
                                            .withPostscale(100)
                                            .withCompressor(Compression.FP16));
                            assertThat(hostValues(comm, half)[0]).isEqualTo(280_000, within(200f));
                            assertThat(hostValues(comm, half)[1]).isEqualTo(4, within(0.02f));
                        });
        assertHierarchical();
    }

    @Test
    void fusedTensorsAndJoinedRanksAreReduced() {
        world(4, 2)
                .run(
                        comm -> {
                            for (int step = 0; step < 20; step++) {
                                Tensor one = onDevice(comm, comm.rank(), step);
                                Tensor other = onDevice(comm, 1, 2, 3);
                                List<Handle<Tensor>> handles =
                                        List.of(
                                                comm.allreduceAsync("one", one, ReduceOp.SUM),
                                                comm.allreduceAsync("other", other, ReduceOp.SUM));
                                handles.forEach(Handle::join);
                                assertThat(hostValues(comm, one)).containsExactly(6, 4 * step);
                                assertThat(hostValues(comm, other)).containsExactly(4, 8, 12);
                            }
                            if (comm.rank() != 2) {
                                Tensor last = onDevice(comm, 9, comm.rank());
                                comm.allreduce("last", last, ReduceOp.AVERAGE);
                                assertThat(hostValues(comm, last)[0]).isIn(9f, 6.75f);
                            }
                            comm.join();
                        });
        assertHierarchical();
    }

    @ParameterizedTest
    @EnumSource(DataType.class)
    void typesThatTheBackendLacksRunByTheNext(DataType dataType) {
        ReduceOp op = dataType == DataType.BOOL ? ReduceOp.MAX : ReduceOp.SUM;
        world(4, 2)
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
        assertThat(fake.launches()).hasSize(dataType.isFloatingPoint() ? 8 : 0);
    }

    @ParameterizedTest(name = "{0} ranks on {1} hosts")
    @CsvSource({"3, 2", "3, 3", "3, 1"})
    void isNotUsedWhereItCannotHelp(int size, int hosts) {
        world(size, hosts)
                .run(
                        comm -> {
                            Tensor tensor = onDevice(comm, 1);
                            comm.allreduce("sum", tensor, ReduceOp.SUM);
                            assertThat(hostValues(comm, tensor)).containsExactly(3);
                        });
        assertThat(fake.launches()).extracting(Launch::collective).containsOnly("allreduce");
    }

    @ParameterizedTest
    @ValueSource(strings = {"HOROVOD_GPU_OPERATIONS", "HOROVOD_GPU_ALLREDUCE"})
    void namedBackendIsUsedInsideHosts(String variable) {
        DeviceWorlds.of(World.of(4).hosts(2), _ -> List.of(fake))
                .with(Map.of("HOROVOD_HIERARCHICAL_ALLREDUCE", "1", variable, "FAKE"))
                .run(
                        comm -> {
                            Tensor tensor = onDevice(comm, comm.rank());
                            comm.allreduce("sum", tensor, ReduceOp.SUM);
                            assertThat(hostValues(comm, tensor)).containsExactly(6);
                            comm.broadcast("broadcast", tensor, 1);
                        });
        assertThat(fake.launches())
                .extracting(Launch::collective)
                .containsOnly("reducescatter", "allgather", "broadcast");
    }

    /// Rank 3 is lost while rank 2 waits for it on its device, and ranks 0 and 1 wait on the CPU.
    @Test
    void lostRankEndsItOnEveryHost() {
        assertThatThrownBy(
                        () ->
                                world(4, 2)
                                        .run(
                                                comm -> {
                                                    DeviceStream framework = stream(comm);
                                                    if (comm.rank() == 3) {
                                                        // its gradient is never computed
                                                        launch(framework, this::neverEnds);
                                                    }
                                                    Handle<Tensor> sum =
                                                            comm.allreduceAsync(
                                                                    "sum",
                                                                    onDevice(comm, 1, 2)
                                                                            .readyOn(framework),
                                                                    ReduceOp.SUM);
                                                    if (comm.rank() == 3) {
                                                        await().until(
                                                                        () ->
                                                                                fake.launches()
                                                                                                .size()
                                                                                        == 4);
                                                        throw new IllegalStateException("a fault");
                                                    }
                                                    assertThatThrownBy(sum::join)
                                                            .isInstanceOf(PeerLostException.class);
                                                }))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("a fault")
                .satisfies(e -> assertThat(e.getSuppressed()).isEmpty());
        assertThat(fake.aborts()).hasSizeGreaterThanOrEqualTo(3);
        assertThat(fake.closed()).as("backends inside hosts").hasSize(4);
    }

    private void neverEnds() {
        try {
            new CountDownLatch(1).await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
