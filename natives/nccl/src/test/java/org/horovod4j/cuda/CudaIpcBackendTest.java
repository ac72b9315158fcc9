package org.horovod4j.cuda;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.DeviceStream;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.nccl.CollectivesCheck;
import org.horovod4j.spi.DeviceBackend;
import org.horovod4j.spi.DeviceBackendProvider;
import org.horovod4j.spi.DeviceContext;
import org.horovod4j.spi.DeviceEvent;
import org.horovod4j.spi.DevicePlace;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;

/// Ranks that share a simulated GPU, as threads. No GPU is needed.
class CudaIpcBackendTest {
    /// Small, so that tensors of some thousand elements take larger stages, and then many rounds.
    private static final long FIRST_ROUND_BYTES = 1024;

    private static final long MAX_ROUND_BYTES = 4096;

    /// Longer than any test.
    private static final Duration ABORT_TIMEOUT = Duration.ofHours(1);

    private static final Duration CLOSE_TIMEOUT = Duration.ofMinutes(1);

    @ParameterizedTest(name = "{0} ranks")
    @CsvSource({"1", "2", "3"})
    void everyCollectiveHasTheResultOfMainMemory(int size) {
        SimulatedCuda simulated = new SimulatedCuda();
        CudaDevice device = new CudaDevice(simulated, 0);
        World.run(
                size,
                communicator -> {
                    CudaDeviceDriver driver = new CudaDeviceDriver(device);
                    try (CollectivesCheck check =
                            new CollectivesCheck(
                                    communicator,
                                    driver,
                                    new FloatsOnly(),
                                    context ->
                                            new CudaIpcBackend(
                                                    device,
                                                    context,
                                                    FIRST_ROUND_BYTES,
                                                    MAX_ROUND_BYTES,
                                                    ABORT_TIMEOUT,
                                                    CLOSE_TIMEOUT))) {
                        check.run();
                        check.runLarge(5003);
                        assertThat(check.checked()).isGreaterThan(100);
                    }
                    driver.close();
                });
    }

    @Test
    void ranksOnDifferentGpusUsePeerAccess() {
        SimulatedCuda simulated = new SimulatedCuda(2);
        List<CudaDevice> devices =
                List.of(new CudaDevice(simulated, 0), new CudaDevice(simulated, 1));
        String process = IpcProcess.of(simulated).encode();
        List<DevicePlace> places =
                devices.stream()
                        .map(
                                each ->
                                        new DevicePlace(
                                                each.index(),
                                                "host",
                                                "domain",
                                                Device.cuda(each.index()),
                                                each.uuid(),
                                                Map.of("CUDA_IPC", process)))
                        .toList();
        assertThat(new CudaIpcProvider().unsupportedReason(places)).isEmpty();
        World.run(
                2,
                communicator -> {
                    CudaDevice device = devices.get(communicator.rank());
                    CudaDeviceDriver driver = new CudaDeviceDriver(device);
                    DeviceStream stream = driver.openStream(false);
                    CudaIpcProvider.enablePeerAccess(device, places);
                    CudaIpcBackend backend =
                            new CudaIpcBackend(
                                    device,
                                    CollectivesCheck.context(communicator, driver, stream, places),
                                    FIRST_ROUND_BYTES,
                                    MAX_ROUND_BYTES,
                                    ABORT_TIMEOUT,
                                    CLOSE_TIMEOUT);
                    Tensor tensor = driver.allocate(DataType.FLOAT32, Shape.of(3));
                    driver.copyToDevice(
                            nativeFloats(1, 2, communicator.rank()),
                            tensor.deviceAddress(),
                            stream);
                    FusedTensors fused = new FusedTensors(DataType.FLOAT32, 3);
                    fused.setAddresses(0, tensor.deviceAddress(), tensor.deviceAddress());
                    communicator.barrier();
                    backend.allreduce(fused, ReduceOp.SUM, Scale.NONE, 2);
                    MemorySegment sum = nativeFloats(0, 0, 0);
                    DeviceStream results = backend.resultStream(stream);
                    driver.copyToHost(tensor.deviceAddress(), sum, results);
                    simulated.synchronizeStream(results.handle());
                    assertThat(sum.toArray(ValueLayout.JAVA_FLOAT)).containsExactly(2, 4, 1);
                    backend.close();
                    driver.closeStream(stream);
                    driver.close();
                });
    }

    private static MemorySegment nativeFloats(float... values) {
        return Arena.global().allocateFrom(ValueLayout.JAVA_FLOAT, values);
    }

    /// A rank may be done, and close, while another one still reads its memory.
    @Test
    void memoryIsFreedWhenNoRankReadsIt() {
        SimulatedCuda simulated = new SimulatedCuda();
        CudaDevice device = new CudaDevice(simulated, 0);
        CudaDeviceDriver driver = new CudaDeviceDriver(device);
        Tensor[] tensors = new Tensor[2];
        for (int rank = 0; rank < 2; rank++) {
            tensors[rank] = driver.allocate(DataType.FLOAT32, Shape.of(100));
        }
        int before = simulated.allocations();
        World.run(
                2,
                communicator -> {
                    DeviceStream stream = driver.openStream(false);
                    CudaIpcBackend backend = backend(communicator, device, driver, stream);
                    if (communicator.rank() == 1) {
                        simulated.slowReductions(backend.resultStream(stream).handle());
                    }
                    FusedTensors fused = new FusedTensors(DataType.FLOAT32, 100);
                    long address = tensors[communicator.rank()].deviceAddress();
                    fused.setAddresses(0, address, address);
                    communicator.barrier();
                    backend.allreduce(fused, ReduceOp.SUM, Scale.NONE, 2);
                    backend.close();
                    // fails if a kernel has failed
                    driver.record(stream).release();
                    driver.closeStream(stream);
                });
        assertThat(simulated.allocations()).isEqualTo(before);
        driver.close();
    }

    /// Ranks that share a GPU take turns on it, so a rank must not wait in each round for what the others
    /// write; and it must not write where they still read.
    @Test
    void rankWritesSeveralRoundsAheadOfAnother() {
        SimulatedCuda simulated = new SimulatedCuda();
        CudaDevice device = new CudaDevice(simulated, 0);
        CudaDeviceDriver driver = new CudaDeviceDriver(device);
        CountDownLatch rank0IsAhead = new CountDownLatch(1);
        int rounds = IpcMemory.SLOTS + 3;
        World.run(
                2,
                communicator -> {
                    int rank = communicator.rank();
                    DeviceStream stream = driver.openStream(false);
                    CudaIpcBackend backend = backend(communicator, device, driver, stream);
                    if (rank == 1) {
                        awaitQuietly(rank0IsAhead);
                    }
                    List<Tensor> tensors = new ArrayList<>();
                    for (int i = 0; i < rounds; i++) {
                        Tensor tensor = driver.allocate(DataType.FLOAT32, Shape.of(2));
                        tensors.add(tensor);
                        driver.copyToDevice(nativeFloats(i, rank), tensor.deviceAddress(), stream);
                        FusedTensors fused = new FusedTensors(DataType.FLOAT32, 2);
                        fused.setAddresses(0, tensor.deviceAddress(), tensor.deviceAddress());
                        backend.allreduce(fused, ReduceOp.SUM, Scale.NONE, 2);
                        if (rank == 0 && i == IpcMemory.SLOTS - 1) {
                            await().until(driver.record(stream)::isComplete);
                        }
                    }
                    rank0IsAhead.countDown();
                    DeviceStream results = backend.resultStream(stream);
                    for (int i = 0; i < rounds; i++) {
                        MemorySegment sum = nativeFloats(0, 0);
                        driver.copyToHost(tensors.get(i).deviceAddress(), sum, results);
                        simulated.synchronizeStream(results.handle());
                        assertThat(sum.toArray(ValueLayout.JAVA_FLOAT)).containsExactly(2 * i, 1);
                    }
                    backend.close();
                    driver.closeStream(stream);
                });
        driver.close();
    }

    /// Otherwise a stream of the program that waits for the operation would never continue.
    @Test
    void abortEndsTheWaitForARankThatIsLost() {
        SimulatedCuda simulated = new SimulatedCuda();
        CudaDevice device = new CudaDevice(simulated, 0);
        CudaDeviceDriver driver = new CudaDeviceDriver(device);
        Tensor tensor = driver.allocate(DataType.FLOAT32, Shape.of(200));
        World.run(
                2,
                communicator -> {
                    DeviceStream stream = driver.openStream(false);
                    CudaIpcBackend backend = backend(communicator, device, driver, stream);
                    if (communicator.rank() == 0) {
                        FusedTensors fused = new FusedTensors(DataType.FLOAT32, 200);
                        fused.setAddresses(0, tensor.deviceAddress(), tensor.deviceAddress());
                        backend.allreduce(fused, ReduceOp.SUM, Scale.NONE, 2);
                        DeviceEvent end = driver.record(backend.resultStream(stream));
                        assertThat(end.isComplete()).isFalse();
                        backend.abort();
                        await().until(end::isComplete);
                        assertThatThrownBy(
                                        () -> backend.allreduce(fused, ReduceOp.SUM, Scale.NONE, 2))
                                .hasMessageContaining("aborted");
                    }
                    communicator.barrier();
                    backend.close();
                    driver.closeStream(stream);
                });
        driver.close();
    }

    /// A rank that is ahead waits until the lost rank has read, which it never does.
    @Test
    void abortEndsTheWaitUntilARankThatIsLostHasRead() {
        SimulatedCuda simulated = new SimulatedCuda();
        CudaDevice device = new CudaDevice(simulated, 0);
        CudaDeviceDriver driver = new CudaDeviceDriver(device);
        World.run(
                2,
                communicator -> {
                    DeviceStream stream = driver.openStream(false);
                    CudaIpcBackend backend =
                            backend(
                                    communicator,
                                    device,
                                    driver,
                                    stream,
                                    Duration.ofMillis(1),
                                    CLOSE_TIMEOUT);
                    if (communicator.rank() == 0) {
                        List<Tensor> tensors =
                                reduceAhead(driver, backend, stream, IpcMemory.SLOTS + 3);
                        DeviceEvent written = driver.record(stream);
                        DeviceEvent end = driver.record(backend.resultStream(stream));
                        backend.abort();
                        await().until(() -> written.isComplete() && end.isComplete());
                        assertThat(tensors).as("kept until then").hasSize(IpcMemory.SLOTS + 3);
                    }
                    communicator.barrier();
                    backend.close();
                    driver.closeStream(stream);
                });
        driver.close();
    }

    /// Allreduces of the numbers 0, 1, 2 and so on.
    private static List<Tensor> reduceAhead(
            CudaDeviceDriver driver, CudaIpcBackend backend, DeviceStream stream, int rounds) {
        List<Tensor> tensors = new ArrayList<>();
        for (int i = 0; i < rounds; i++) {
            Tensor tensor = driver.allocate(DataType.FLOAT32, Shape.of(1));
            tensors.add(tensor);
            driver.copyToDevice(nativeFloats(i), tensor.deviceAddress(), stream);
            FusedTensors fused = new FusedTensors(DataType.FLOAT32, 1);
            fused.setAddresses(0, tensor.deviceAddress(), tensor.deviceAddress());
            backend.allreduce(fused, ReduceOp.SUM, Scale.NONE, 2);
        }
        return tensors;
    }

    /// A survivor that has not noticed the loss takes what it reads as valid.
    @Test
    void rankThatAbortsDoesNotWriteWhereAnotherReads() {
        SimulatedCuda simulated = new SimulatedCuda();
        CudaDevice device = new CudaDevice(simulated, 0);
        CudaDeviceDriver driver = new CudaDeviceDriver(device);
        CountDownLatch aborted = new CountDownLatch(1);
        int rounds = IpcMemory.SLOTS + 1;
        World.run(
                2,
                communicator -> {
                    DeviceStream stream = driver.openStream(false);
                    CudaIpcBackend backend = backend(communicator, device, driver, stream);
                    if (communicator.rank() == 0) {
                        List<Tensor> tensors = reduceAhead(driver, backend, stream, rounds);
                        backend.abort();
                        // the reads of this rank have ended, of rounds that were written
                        MemorySegment read = nativeFloats(-1);
                        DeviceStream results = driver.openStream(false);
                        await().until(
                                        () -> {
                                            long first = tensors.getFirst().deviceAddress();
                                            driver.copyToHost(first, read, results);
                                            simulated.synchronizeStream(results.handle());
                                            return read.get(ValueLayout.JAVA_FLOAT, 0) != 0;
                                        });
                        driver.closeStream(results);
                        aborted.countDown();
                    } else {
                        awaitQuietly(aborted);
                        List<Tensor> tensors = reduceAhead(driver, backend, stream, rounds);
                        MemorySegment sum = nativeFloats(-1);
                        DeviceStream results = backend.resultStream(stream);
                        for (int i = 0; i < rounds; i++) {
                            driver.copyToHost(tensors.get(i).deviceAddress(), sum, results);
                            simulated.synchronizeStream(results.handle());
                            assertThat(sum.get(ValueLayout.JAVA_FLOAT, 0)).isEqualTo(2 * i);
                        }
                    }
                    communicator.barrier();
                    backend.close();
                    driver.closeStream(stream);
                });
        driver.close();
    }

    /// The program may still use the tensors that the operation writes.
    @Test
    void abortedOperationWaitsForTheProgram() {
        SimulatedCuda simulated = new SimulatedCuda();
        CudaDevice device = new CudaDevice(simulated, 0);
        CudaDeviceDriver driver = new CudaDeviceDriver(device);
        Tensor tensor = driver.allocate(DataType.FLOAT32, Shape.of(200));
        CountDownLatch programHasEnded = new CountDownLatch(1);
        World.run(
                2,
                communicator -> {
                    DeviceStream stream = driver.openStream(false);
                    CudaIpcBackend backend = backend(communicator, device, driver, stream);
                    if (communicator.rank() == 0) {
                        simulated.stop(stream.handle(), programHasEnded);
                        FusedTensors fused = new FusedTensors(DataType.FLOAT32, 200);
                        fused.setAddresses(0, tensor.deviceAddress(), tensor.deviceAddress());
                        backend.allreduce(fused, ReduceOp.SUM, Scale.NONE, 2);
                        DeviceEvent end = driver.record(backend.resultStream(stream));
                        backend.abort();
                        await().during(Duration.ofMillis(200)).until(() -> !end.isComplete());
                        programHasEnded.countDown();
                        await().until(end::isComplete);
                    }
                    communicator.barrier();
                    backend.close();
                    driver.closeStream(stream);
                });
        driver.close();
    }

    /// Another survivor may be behind: what its stream writes later must not bring waits back.
    @Test
    void abortEndsTheWaitAlsoIfAnotherRankWritesAfterIt() {
        SimulatedCuda simulated = new SimulatedCuda();
        CudaDevice device = new CudaDevice(simulated, 0);
        CudaDeviceDriver driver = new CudaDeviceDriver(device);
        Tensor tensor = driver.allocate(DataType.FLOAT32, Shape.of(200));
        CountDownLatch rank0 = new CountDownLatch(1);
        CountDownLatch rank1 = new CountDownLatch(1);
        CountDownLatch rank1HasWritten = new CountDownLatch(1);
        CountDownLatch rank0HasEnded = new CountDownLatch(1);
        World.run(
                3,
                communicator -> {
                    int rank = communicator.rank();
                    DeviceStream stream = driver.openStream(false);
                    CudaIpcBackend backend = backend(communicator, device, driver, stream);
                    FusedTensors fused = new FusedTensors(DataType.FLOAT32, 200);
                    fused.setAddresses(0, tensor.deviceAddress(), tensor.deviceAddress());
                    switch (rank) {
                        case 0 -> {
                            simulated.stop(stream.handle(), rank0);
                            backend.allreduce(fused, ReduceOp.SUM, Scale.NONE, 3);
                            backend.allreduce(fused, ReduceOp.SUM, Scale.NONE, 3);
                            backend.abort();
                            DeviceEvent end = driver.record(backend.resultStream(stream));
                            rank1.countDown();
                            awaitQuietly(rank1HasWritten);
                            rank0.countDown();
                            await().until(end::isComplete);
                            rank0HasEnded.countDown();
                        }
                        case 1 -> {
                            simulated.stop(stream.handle(), rank1);
                            backend.allreduce(fused, ReduceOp.SUM, Scale.NONE, 3);
                            backend.abort();
                            DeviceEvent end = driver.record(backend.resultStream(stream));
                            await().until(end::isComplete);
                            rank1HasWritten.countDown();
                            awaitQuietly(rank0HasEnded);
                        }
                        default -> awaitQuietly(rank0HasEnded); // it is lost
                    }
                    communicator.barrier();
                    backend.close();
                    driver.closeStream(stream);
                });
        driver.close();
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /// A stream of the program that never continues must not stop the end of the job.
    @Test
    void closeDoesNotWaitForAStreamThatHasStopped() {
        SimulatedCuda simulated = new SimulatedCuda();
        CudaDevice device = new CudaDevice(simulated, 0);
        CudaDeviceDriver driver = new CudaDeviceDriver(device);
        CountDownLatch stopped = new CountDownLatch(1);
        World.run(
                1,
                communicator -> {
                    DeviceStream stream = driver.openStream(false);
                    CudaIpcBackend backend =
                            backend(
                                    communicator,
                                    device,
                                    driver,
                                    stream,
                                    ABORT_TIMEOUT,
                                    Duration.ofSeconds(2));
                    simulated.stop(stream.handle(), stopped);
                    backend.abort();
                    backend.close();
                    driver.closeStream(stream);
                });
        assertThat(simulated.allocations()).isEqualTo(1); // what the stopped work may use
        driver.close();
        assertThat(simulated.events()).isZero();
        stopped.countDown();
    }

    /// Stages grow to twice their size, and not above the most data of a round.
    @Test
    void stagesGrowToTheMostDataOfARound() {
        SimulatedCuda simulated = new SimulatedCuda();
        CudaDevice device = new CudaDevice(simulated, 0);
        CudaDeviceDriver driver = new CudaDeviceDriver(device);
        Tensor tensor = driver.allocate(DataType.UINT8, Shape.of(2 * MAX_ROUND_BYTES));
        long before = simulated.allocatedBytes();
        World.run(
                1,
                communicator -> {
                    DeviceStream stream = driver.openStream(false);
                    CudaIpcBackend backend = backend(communicator, device, driver, stream);
                    for (long bytes : new long[] {3000, 3500, 2 * MAX_ROUND_BYTES}) {
                        FusedTensors fused = new FusedTensors(DataType.UINT8, bytes);
                        fused.setAddresses(0, tensor.deviceAddress(), tensor.deviceAddress());
                        backend.allreduce(fused, ReduceOp.SUM, Scale.NONE, 1);
                    }
                    long stages = IpcMemory.SLOTS * (FIRST_ROUND_BYTES + 3072 + MAX_ROUND_BYTES);
                    assertThat(simulated.allocatedBytes() - before)
                            .isBetween(stages, stages + 3 * (2 * SharedStages.NUMBERS * 4L + 256));
                    backend.close();
                    driver.closeStream(stream);
                });
        driver.close();
    }

    private static CudaIpcBackend backend(
            Communicator communicator,
            CudaDevice device,
            CudaDeviceDriver driver,
            DeviceStream stream) {
        return backend(communicator, device, driver, stream, ABORT_TIMEOUT, CLOSE_TIMEOUT);
    }

    private static CudaIpcBackend backend(
            Communicator communicator,
            CudaDevice device,
            CudaDeviceDriver driver,
            DeviceStream stream,
            Duration abortTimeout,
            Duration closeTimeout) {
        List<DevicePlace> places =
                Collections.nCopies(
                        communicator.size(),
                        new DevicePlace(0, "host", "domain", driver.device(), driver.identity()));
        return new CudaIpcBackend(
                device,
                CollectivesCheck.context(communicator, driver, stream, places),
                FIRST_ROUND_BYTES,
                MAX_ROUND_BYTES,
                abortTimeout,
                closeTimeout);
    }

    @Test
    void urgentStreamsHaveTheHighestPriority() {
        SimulatedCuda simulated = new SimulatedCuda();
        CudaDeviceDriver driver = new CudaDeviceDriver(new CudaDevice(simulated, 0));
        DeviceStream urgent = driver.openStream(true);
        DeviceStream usual = driver.openStream(false);
        assertThat(simulated.priority(urgent.handle())).isEqualTo(simulated.priorityRange()[1]);
        assertThat(simulated.priority(usual.handle())).isZero();
        driver.closeStream(urgent);
        driver.closeStream(usual);
        driver.close();
    }

    @Test
    void memoryOfUnreachableTensorsIsUsedAgain() {
        SimulatedCuda simulated = new SimulatedCuda();
        CudaDeviceDriver driver = new CudaDeviceDriver(new CudaDevice(simulated, 0));
        simulated.limit(10_000);
        for (int i = 0; i < 8; i++) {
            assertThat(driver.allocate(DataType.UINT8, Shape.of(4000)).byteSize()).isEqualTo(4000);
        }
        assertThatThrownBy(() -> driver.allocate(DataType.UINT8, Shape.of(20_000)))
                .isInstanceOf(CudaException.class)
                .hasMessageContaining("out of memory");
        driver.close();
    }

    @Test
    void arraysOfJavaAreRefused() {
        CudaDeviceDriver driver = new CudaDeviceDriver(new CudaDevice(new SimulatedCuda(), 0));
        Tensor tensor = driver.allocate(DataType.FLOAT32, Shape.of(4));
        DeviceStream stream = driver.openStream(false);
        MemorySegment array = MemorySegment.ofArray(new float[4]);
        assertThatThrownBy(() -> driver.copyToDevice(array, tensor.deviceAddress(), stream))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("Java array");
        assertThatThrownBy(() -> driver.copyToHost(tensor.deviceAddress(), array, stream))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> driver.pin(array)).isInstanceOf(IllegalArgumentException.class);
        driver.closeStream(stream);
        driver.close();
    }

    /// The kernels of the CPU average integers in a wider type, which the simulation does not do.
    private static final class FloatsOnly implements DeviceBackendProvider {
        private final CudaIpcProvider provider = new CudaIpcProvider();

        @Override
        public String name() {
            return provider.name();
        }

        @Override
        public org.horovod4j.Device.Kind kind() {
            return provider.kind();
        }

        @Override
        public int preference() {
            return provider.preference();
        }

        @Override
        public Class<? extends DeviceBackend> backendType() {
            return provider.backendType();
        }

        @Override
        public boolean reduces(DataType dataType, ReduceOp op) {
            return op != ReduceOp.AVERAGE || dataType.isFloatingPoint();
        }

        @Override
        public String describe() {
            return provider.describe();
        }

        @Override
        public boolean isAvailable() {
            return true;
        }

        @Override
        public Optional<String> unsupportedReason(List<DevicePlace> places) {
            return provider.unsupportedReason(places);
        }

        @Override
        public DeviceBackend create(DeviceContext context) {
            throw new UnsupportedOperationException("the test creates it");
        }
    }
}
