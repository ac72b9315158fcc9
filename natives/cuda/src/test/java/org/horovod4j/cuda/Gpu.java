package org.horovod4j.cuda;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.horovod4j.DataType;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;

/// The first GPU of this host, for a test: copies memory to it and back.
public final class Gpu implements AutoCloseable {
    private final CudaDevice device;
    private final long stream;
    private final List<Long> addresses = new ArrayList<>();
    private final Arena arena = Arena.ofShared();

    private Gpu(CudaDevice device) {
        this.device = device;
        this.stream = device.api().createStream(0);
    }

    /// Skips the test where there is no GPU.
    public static Gpu open() {
        String reason = Cuda.unavailableReason();
        assumeTrue(reason.isEmpty(), () -> "needs a GPU, but " + reason);
        return new Gpu(Cuda.open().device(0));
    }

    CudaDevice device() {
        return device;
    }

    CudaKernels kernels() {
        return device.kernels();
    }

    long stream() {
        return stream;
    }

    /// Device memory, freed with this object.
    public long allocate(long byteSize) {
        long address = device.api().allocate(Math.max(1, byteSize));
        addresses.add(address);
        return address;
    }

    /// A copy of `source` in device memory.
    public long upload(MemorySegment source) {
        long address = allocate(source.byteSize());
        uploadTo(address, source);
        return address;
    }

    public void uploadTo(long address, MemorySegment source) {
        MemorySegment copy = arena.allocate(Math.max(1, source.byteSize()), 64);
        MemorySegment.copy(source, 0, copy, 0, source.byteSize());
        if (source.byteSize() > 0) {
            device.api().copy(address, copy.address(), source.byteSize(), stream);
            device.api().synchronizeStream(stream);
        }
    }

    /// What device memory has after all work of the stream.
    public MemorySegment download(long address, long byteSize) {
        MemorySegment target = arena.allocate(Math.max(1, byteSize), 64);
        if (byteSize > 0) {
            device.api().copy(target.address(), address, byteSize, stream);
        }
        device.api().synchronizeStream(stream);
        return target.asSlice(0, byteSize);
    }

    /// The positions of the largest magnitudes by [CudaKernels#selectLargest].
    public MemorySegment select(DataType dataType, MemorySegment values, int count, int selected) {
        long positions = allocate((long) selected * Integer.BYTES);
        long picked = allocate((long) selected * dataType.byteSize());
        kernels()
                .selectLargest(
                        dataType,
                        upload(values),
                        count,
                        selected,
                        positions,
                        picked,
                        allocate(CudaKernels.SELECTION_SCRATCH_BYTES),
                        stream);
        MemorySegment both =
                arena.allocate((long) selected * (Integer.BYTES + dataType.byteSize()), 64);
        MemorySegment.copy(
                download(positions, (long) selected * Integer.BYTES),
                0,
                both,
                0,
                (long) selected * Integer.BYTES);
        MemorySegment.copy(
                download(picked, (long) selected * dataType.byteSize()),
                0,
                both,
                (long) selected * Integer.BYTES,
                (long) selected * dataType.byteSize());
        return both;
    }

    @Override
    public void close() {
        device.api().synchronizeStream(stream);
        addresses.forEach(address -> device.api().free(address));
        device.api().destroyStream(stream);
        arena.close();
    }
}
