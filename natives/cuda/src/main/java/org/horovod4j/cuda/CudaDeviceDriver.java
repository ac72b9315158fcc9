package org.horovod4j.cuda;

import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.DeviceStream;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.spi.DeviceDriver;
import org.horovod4j.spi.DeviceEvent;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.spi.SelectionKernels;

import java.lang.foreign.MemorySegment;
import java.lang.ref.Cleaner;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;

/// A GPU as one rank uses it.
final class CudaDeviceDriver implements DeviceDriver {
    private static final Cleaner CLEANER = Cleaner.create();

    private final CudaDevice device;
    private final Device name;

    /// Sets new memory to zero.
    private final long memoryStream;

    private final Set<Long> streams = ConcurrentHashMap.newKeySet();
    private final Queue<Long> freeEvents = new ConcurrentLinkedQueue<>();

    CudaDeviceDriver(CudaDevice device) {
        this.device = device;
        this.name = Device.cuda(device.index());
        this.memoryStream = device.api().createStream(0);
    }

    /// The GPU, for the backends of this module.
    CudaDevice cuda() {
        return device;
    }

    @Override
    public Device device() {
        return name;
    }

    @Override
    public String identity() {
        return device.uuid();
    }

    @Override
    public String describe() {
        return device.name();
    }

    @Override
    public void bind() {
        device.api();
    }

    /// Freeing memory, which a thread of its own does, waits for the device ([CudaDevice#allocate]).
    @Override
    public Tensor allocate(DataType dataType, Shape shape) {
        long byteSize = Math.multiplyExact(shape.elementCount(), (long) dataType.byteSize());
        Allocation allocation = new Allocation(device, Math.max(1, byteSize));
        Object owner = new Object();
        CLEANER.register(owner, allocation);
        device.api().fill(allocation.address, (byte) 0, Math.max(1, byteSize), memoryStream);
        device.api().synchronizeStream(memoryStream);
        return Tensor.of(name, allocation.address, dataType, shape, owner);
    }

    /// Frees the memory of a tensor that is no longer reachable.
    private static final class Allocation implements Runnable {
        private final CudaDevice device;
        private final long address;

        Allocation(CudaDevice device, long byteSize) {
            this.device = device;
            this.address = device.allocate(byteSize);
        }

        @Override
        public void run() {
            device.api().free(address);
        }
    }

    @Override
    public PinnedMemory pin(MemorySegment hostMemory) {
        long address = address(hostMemory);
        device.api().registerHost(address, hostMemory.byteSize());
        return () -> device.api().unregisterHost(address);
    }

    @Override
    public DeviceStream openStream(boolean urgent) {
        int priority = urgent ? device.api().priorityRange()[1] : 0;
        long stream = device.api().createStream(priority);
        streams.add(stream);
        return new DeviceStream(name, stream);
    }

    @Override
    public void closeStream(DeviceStream stream) {
        if (streams.remove(stream.handle())) {
            device.api().destroyStream(stream.handle());
        }
    }

    @Override
    public DeviceEvent record(DeviceStream stream) {
        Long free = freeEvents.poll();
        long event = free == null ? device.api().createEvent(CudaApi.EVENT_NO_TIMING) : free;
        device.api().recordEvent(event, stream.handle());
        return new Event(event);
    }

    private final class Event implements DeviceEvent {
        private final long event;

        Event(long event) {
            this.event = event;
        }

        @Override
        public boolean isComplete() {
            return device.api().isEventDone(event);
        }

        @Override
        public void awaitOn(DeviceStream stream) {
            device.api().waitForEvent(stream.handle(), event);
        }

        @Override
        public void release() {
            freeEvents.add(event);
        }
    }

    @Override
    public void copyToHost(long source, MemorySegment target, DeviceStream stream) {
        copy(source, address(target), target.byteSize(), stream);
    }

    @Override
    public void copyToDevice(MemorySegment source, long target, DeviceStream stream) {
        copy(address(source), target, source.byteSize(), stream);
    }

    private static long address(MemorySegment hostMemory) {
        if (!hostMemory.isNative()) {
            throw new IllegalArgumentException(
                    "the GPU cannot reach a Java array: copy it to native memory first");
        }
        return hostMemory.address();
    }

    @Override
    public void copy(long source, long target, long byteSize, DeviceStream stream) {
        if (byteSize > 0) {
            device.api().copy(target, source, byteSize, stream.handle());
        }
    }

    @Override
    public void fill(
            long target, long elementCount, int elementBytes, long value, DeviceStream stream) {
        device.kernels().fill(target, elementCount, elementBytes, value, stream.handle());
    }

    @Override
    public void pack(
            FusedTensors fusedTensors,
            long first,
            long count,
            double factor,
            long target,
            DeviceStream stream) {
        DataType from = fusedTensors.dataType();
        DataType to = fusedTensors.wireType();
        TensorCopies copies = new TensorCopies(from, to, factor);
        long end = first + count;
        for (int i = fusedTensors.tensorAt(first);
                i < fusedTensors.tensorCount() && fusedTensors.start(i) < end;
                i++) {
            long tensorStart = fusedTensors.start(i);
            long begin = Math.max(first, tensorStart);
            long stop = Math.min(end, fusedTensors.start(i + 1));
            copies.add(
                    fusedTensors.inputAddress(i) + (begin - tensorStart) * from.byteSize(),
                    target + (begin - first) * to.byteSize(),
                    stop - begin);
        }
        copies.run(stream);
    }

    @Override
    public void unpack(
            FusedTensors fusedTensors,
            long source,
            long first,
            long count,
            double factor,
            DeviceStream stream) {
        DataType from = fusedTensors.wireType();
        DataType to = fusedTensors.dataType();
        TensorCopies copies = new TensorCopies(from, to, factor);
        long end = first + count;
        for (int i = fusedTensors.tensorAt(first);
                i < fusedTensors.tensorCount() && fusedTensors.start(i) < end;
                i++) {
            long outputStart = fusedTensors.start(i) + fusedTensors.outputStart(i);
            long begin = Math.max(first, outputStart);
            long stop = Math.min(end, fusedTensors.start(i) + fusedTensors.outputEnd(i));
            copies.add(
                    source + (begin - first) * from.byteSize(),
                    fusedTensors.outputAddress(i) + (begin - outputStart) * to.byteSize(),
                    stop - begin);
        }
        copies.run(stream);
    }

    @Override
    public void scale(
            DataType dataType,
            long address,
            long elementCount,
            double factor,
            DeviceStream stream) {
        device.kernels().scale(dataType, address, elementCount, factor, stream.handle());
    }

    @Override
    public SelectionKernels selections() {
        return new CudaSelections(device.kernels());
    }

    /// Copies of elements, as bytes if they do not change.
    private final class TensorCopies {
        private final CopyBatch batch;
        private final long perElement;

        TensorCopies(DataType from, DataType to, double factor) {
            boolean unchanged = from == to && factor == 1.0;
            this.batch =
                    unchanged
                            ? device.kernels().copies()
                            : device.kernels().conversions(from, to, factor);
            this.perElement = unchanged ? from.byteSize() : 1;
        }

        void add(long source, long target, long elements) {
            if (elements > 0) {
                batch.add(source, target, elements * perElement);
            }
        }

        void run(DeviceStream stream) {
            batch.run(stream.handle());
        }
    }

    @Override
    public void close() {
        streams.forEach(stream -> closeStream(new DeviceStream(name, stream)));
        for (Long event = freeEvents.poll(); event != null; event = freeEvents.poll()) {
            device.api().destroyEvent(event);
        }
        device.api().destroyStream(memoryStream);
    }
}
