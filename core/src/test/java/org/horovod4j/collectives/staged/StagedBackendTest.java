package org.horovod4j.collectives.staged;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;
import static org.horovod4j.testing.DeviceWorlds.onDevice;
import static org.horovod4j.testing.DeviceWorlds.onHost;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.DeviceStream;
import org.horovod4j.Handle;
import org.horovod4j.HorovodException;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.compression.Compression;
import org.horovod4j.spi.DeviceDriver;
import org.horovod4j.spi.DeviceProvider;
import org.horovod4j.testing.DeviceWorlds;
import org.horovod4j.testing.FakeBackendProvider;
import org.horovod4j.testing.FakeDeviceProvider;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.MemorySegment;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;

/// How the backend `HOST` copies tensors between a device and main memory.
class StagedBackendTest {
    private static final int RANKS = 2;

    /// The bytes of a chunk.
    private static final int CHUNK = (int) StagedBackend.CHUNK_BYTES;

    /// Of the values of a tensor: a prime, so that they differ in all chunks.
    private static final int PERIOD = 10_007;

    /// How often each rank has called a method of its driver, by `rank:method`.
    private final Map<String, Integer> calls = new ConcurrentHashMap<>();

    private final FakeBackendProvider insideHosts =
            new FakeBackendProvider("FAKE").withReducescatterAndAllgather();

    /// Copies to a device wait for this.
    private volatile CountDownLatch copiesUp = new CountDownLatch(0);

    /// How often rank 0 can pin memory.
    private volatile int maxPinned = Integer.MAX_VALUE;

    /// What all ranks have pinned.
    private final Queue<MemorySegment> pinned = new ConcurrentLinkedQueue<>();

    private World world() {
        return DeviceWorlds.of(World.of(RANKS), this::observed, _ -> List.of());
    }

    /// Fake devices that count calls.
    private DeviceProvider observed(int rank) {
        FakeDeviceProvider fake = new FakeDeviceProvider();
        return new DeviceProvider() {
            @Override
            public Device.Kind kind() {
                return fake.kind();
            }

            @Override
            public int count() {
                return fake.count();
            }

            @Override
            public String describe() {
                return fake.describe();
            }

            @Override
            public DeviceDriver open(int index) {
                DeviceDriver driver = fake.open(index);
                return (DeviceDriver)
                        Proxy.newProxyInstance(
                                getClass().getClassLoader(),
                                new Class<?>[] {DeviceDriver.class},
                                (_, method, arguments) -> call(rank, driver, method, arguments));
            }
        };
    }

    private Object call(int rank, DeviceDriver driver, Method method, Object[] arguments)
            throws Throwable {
        count(rank, method.getName());
        if (method.getName().equals("copyToDevice")) {
            CountDownLatch latch = copiesUp;
            DeviceWorlds.launch((DeviceStream) arguments[2], () -> awaitQuietly(latch));
        }
        if (method.getName().equals("pin")) {
            if (rank == 0 && calls(rank, "pin") > maxPinned) {
                throw new HorovodException("no memory");
            }
            MemorySegment memory = (MemorySegment) arguments[0];
            pinned.add(memory);
            DeviceDriver.PinnedMemory pages = driver.pin(memory);
            DeviceDriver.PinnedMemory counted =
                    () -> {
                        count(rank, "unpin");
                        pages.close();
                    };
            return counted;
        }
        try {
            return method.invoke(driver, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private void count(int rank, String method) {
        calls.merge(rank + ":" + method, 1, Integer::sum);
    }

    private int calls(int rank, String method) {
        return calls.getOrDefault(rank + ":" + method, 0);
    }

    private static void run(Communicator comm, String collective, Tensor tensor) {
        switch (collective) {
            case "allreduce" -> comm.allreduce("t", tensor, ReduceOp.SUM);
            case "adasum" -> comm.allreduce("t", tensor, ReduceOp.ADASUM);
            case "reducescatter" -> comm.reducescatter("t", tensor, ReduceOp.SUM);
            case "broadcast" -> comm.broadcast("t", tensor, 1);
            case "allgather" -> comm.allgather("t", tensor);
            case "alltoall" -> comm.alltoall("t", tensor);
            default -> throw new IllegalArgumentException(collective);
        }
    }

    /// The second collective of a size copies to and from pinned memory. Results of the CPU backend, in
    /// memory of its own, are copied up from there.
    @ParameterizedTest
    @CsvSource({
        "allreduce, 0",
        "adasum, 0",
        "reducescatter, 0",
        "broadcast, 0",
        "allgather, 2",
        "alltoall, 2"
    })
    void copiesAreFromAndToPinnedMemory(String collective, int unpinnedUp) {
        List<List<String>> copies =
                DeviceWorlds.of(2)
                        .call(
                                comm -> {
                                    Tensor tensor = onDevice(comm, new float[3000]);
                                    run(comm, collective, tensor);
                                    run(comm, collective, tensor);
                                    comm.barrier();
                                    if (comm.rank() == 0) {
                                        DeviceWorlds.takeUnpinnedCopies();
                                    }
                                    comm.barrier();
                                    run(comm, collective, tensor);
                                    comm.barrier();
                                    return comm.rank() == 0
                                            ? DeviceWorlds.takeUnpinnedCopies()
                                            : List.<String>of();
                                });
        assertThat(copies.getFirst()).hasSize(unpinnedUp).doesNotContain("down");
    }

    /// A tensor on the device with a byte for each element.
    private static Tensor bytes(Communicator comm, int byteSize) {
        return onDevice(comm, pattern(comm.rank() + 1, byteSize));
    }

    /// @param factor of the rank; the sum of all factors for sums
    private static Tensor pattern(int factor, int byteSize) {
        byte[] values = new byte[byteSize];
        for (int i = 0; i < byteSize; i++) {
            values[i] = (byte) (i % PERIOD % 41 * factor);
        }
        return Tensor.of(MemorySegment.ofArray(values), DataType.INT8, Shape.of(byteSize)).copy();
    }

    private static void assertSums(Communicator comm, Tensor tensor) {
        Tensor expected = pattern(1 + 2, (int) tensor.byteSize());
        assertThat(onHost(comm, tensor).segment().mismatch(expected.segment()))
                .as("the first element that differs")
                .isEqualTo(-1);
    }

    /// Ranks that share a device take turns on it: the fewer waits, the fewer turns.
    @Test
    void copiesDownDoNotWaitForCopiesUp() {
        int chunks = StagedBackend.MAX_SLOTS;
        world().run(
                        comm -> {
                            Tensor tensor = bytes(comm, chunks * CHUNK);
                            comm.barrier();
                            if (comm.rank() == 0) {
                                copiesUp = new CountDownLatch(1);
                                calls.clear();
                            }
                            comm.barrier();
                            Handle<Tensor> sum = comm.allreduceAsync("t", tensor, ReduceOp.SUM);
                            await().until(
                                            () ->
                                                    calls(comm.rank(), "copyToHost") == chunks
                                                            && calls(comm.rank(), "copyToDevice")
                                                                    == chunks);
                            assertThat(sum.isDone()).isFalse();
                            comm.barrier();
                            copiesUp.countDown();
                            assertSums(comm, sum.join());
                        });
    }

    /// The last allreduce has more chunks than slots, and its last chunk is not full.
    @Test
    void memoryGrowsWithTheLargestAllreduce() {
        world().run(
                        comm -> {
                            int[] sizes = {
                                0, 4, 2 * CHUNK, CHUNK + 1, 3 * CHUNK - 1, 20 * CHUNK + 3
                            };
                            int[] slots = {0, 1, 2, 2, 3, StagedBackend.MAX_SLOTS};
                            for (int i = 0; i < sizes.length; i++) {
                                Tensor tensor = bytes(comm, sizes[i]);
                                assertSums(comm, comm.allreduce("t" + i, tensor, ReduceOp.SUM));
                                assertThat(calls(comm.rank(), "pin")).isEqualTo(slots[i]);
                            }
                        });
        assertThat(calls(0, "unpin")).isEqualTo(StagedBackend.MAX_SLOTS);
        assertThat(pinned)
                .allMatch(
                        memory -> memory.address() % StagedBackend.PAGE_BYTES == 0,
                        "starts with a page");
    }

    /// The larger one brings new slots while the last copy of the smaller one still uses its own. Then both
    /// use the same slots.
    @Test
    void allreducesOfDifferentSizesAreInFlightTogether() {
        world().run(
                        comm -> {
                            List<Tensor> tensors = new ArrayList<>();
                            for (int chunks : new int[] {1, 5, 2, 7}) {
                                tensors.add(bytes(comm, chunks * CHUNK - 3));
                            }
                            comm.barrier();
                            if (comm.rank() == 0) {
                                copiesUp = new CountDownLatch(RANKS);
                            }
                            comm.barrier();
                            List<Handle<Tensor>> sums = new ArrayList<>();
                            for (int i = 0; i < tensors.size(); i++) {
                                sums.add(
                                        comm.allreduceAsync("t" + i, tensors.get(i), ReduceOp.SUM));
                            }
                            await().until(() -> calls(comm.rank(), "pin") == 5);
                            copiesUp.countDown();
                            sums.forEach(sum -> assertSums(comm, sum.join()));
                        });
    }

    /// One rank has less memory than the other: the ranks reduce the same chunks anyway.
    @ParameterizedTest
    @ValueSource(ints = {1, 3})
    void allreduceWorksWithTheSlotsThatCanBeAllocated(int slots) {
        maxPinned = slots;
        world().run(
                        comm -> {
                            for (int step = 0; step < 3; step++) {
                                Tensor tensor = bytes(comm, 7 * CHUNK + 5);
                                assertSums(comm, comm.allreduce("t", tensor, ReduceOp.SUM));
                            }
                        });
        assertThat(calls(0, "pin"))
                .as("those that worked, and one that failed")
                .isEqualTo(slots + 1);
        assertThat(calls(0, "unpin")).isEqualTo(slots);
    }

    @Test
    void withoutAnyMemoryTheAllreduceFails() {
        maxPinned = 0;
        assertThatThrownBy(
                        () ->
                                world().run(
                                                comm ->
                                                        comm.allreduce(
                                                                "t", bytes(comm, 5), ReduceOp.SUM)))
                .hasMessageContaining("no memory");
    }

    /// Tensors end inside chunks, and slots are used again. Tensors are fused after some steps.
    @Test
    void fusedTensorsArePackedInChunks() {
        maxPinned = 4;
        world().with(Map.of("HOROVOD_FUSION_THRESHOLD", "100000000"))
                .run(
                        comm -> {
                            int[] sizes = {CHUNK - 7, 1, 2 * CHUNK + 3, 3 * CHUNK};
                            for (int step = 0; step < 6; step++) {
                                List<Tensor> tensors = new ArrayList<>();
                                for (int size : sizes) {
                                    tensors.add(bytes(comm, size));
                                }
                                comm.groupedAllreduce("group", tensors, ReduceOp.SUM)
                                        .forEach(sum -> assertSums(comm, sum));
                            }
                            assertThat(calls(comm.rank(), "pack"))
                                    .isPositive()
                                    .isEqualTo(calls(comm.rank(), "unpack"));
                        });
        assertThat(calls(0, "pin")).as("a slot was missing").isEqualTo(5);
    }

    @Test
    void compressedTensorsArePacked() {
        world().run(
                        comm -> {
                            Tensor tensor = onDevice(comm, 1.5f, 2, comm.rank());
                            comm.allreduce(
                                    "t",
                                    tensor,
                                    AllreduceOptions.sum().withCompressor(Compression.FP16));
                            assertThat(calls(comm.rank(), "pack")).isOne();
                            assertThat(DeviceWorlds.hostValues(comm, tensor))
                                    .containsExactly(3, 4, 1);
                        });
    }

    /// Otherwise the device could write to memory that is used for something else.
    @ParameterizedTest(name = "hierarchical: {0}, copies end: {1}")
    @CsvSource({"false, false", "false, true", "true, false", "true, true"})
    void pagesStayLockedWhileACopyUsesThem(boolean hierarchical, boolean copiesEnd) {
        World world =
                hierarchical
                        ? DeviceWorlds.of(
                                        World.of(4).hosts(2),
                                        this::observed,
                                        _ -> List.of(insideHosts))
                                .with(Map.of("HOROVOD_HIERARCHICAL_ALLREDUCE", "1"))
                        : world();
        copiesUp = new CountDownLatch(copiesEnd ? 0 : 1);
        assertThatThrownBy(() -> world.run(this::failAfterAnAllreduceIsLaunched))
                .isInstanceOf(IllegalStateException.class)
                .hasMessage("fails");
        assertThat(calls(0, "pin")).isOne();
        assertThat(calls(0, "unpin")).isEqualTo(copiesEnd ? 1 : 0);
        copiesUp.countDown();
    }

    private void failAfterAnAllreduceIsLaunched(Communicator comm) {
        Tensor tensor = comm.allocate(DeviceWorlds.device(comm), DataType.FLOAT32, Shape.of(8));
        Handle<Tensor> _ = comm.allreduceAsync("t", tensor, ReduceOp.SUM);
        await().until(() -> calls(comm.rank(), "copyToDevice") == 1);
        comm.barrier();
        throw new IllegalStateException("fails");
    }
}
