package org.horovod4j.testing;

import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.DeviceStream;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.spi.DeviceDriver;
import org.horovod4j.spi.DeviceEvent;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.spi.SelectionKernels;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.ref.Cleaner;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;

/// The driver of a fake device. Its work runs later, on the threads of its streams.
final class FakeDriver implements DeviceDriver {
    /// Not an address of this process: code that used it as one would fault.
    private static final AtomicLong NEXT = new AtomicLong(0x7000_0000_0000_0000L);

    private static final ConcurrentSkipListMap<Long, MemorySegment> MEMORY =
            new ConcurrentSkipListMap<>();

    /// Host memory whose pages are locked, by address.
    private static final ConcurrentSkipListMap<Long, MemorySegment> PINNED =
            new ConcurrentSkipListMap<>();

    private static final Queue<String> UNPINNED_COPIES = new ConcurrentLinkedQueue<>();

    /// Frees memory of tensors that are no longer reachable: work that uses it then fails.
    private static final Cleaner CLEANER = Cleaner.create();

    private final Device device;
    private final Set<DeviceStream> streams = new HashSet<>();

    FakeDriver(Device device) {
        this.device = device;
    }

    /// The memory at an address.
    static MemorySegment memory(long address, long byteSize) {
        if (byteSize == 0) {
            return MemorySegment.NULL;
        }
        Map.Entry<Long, MemorySegment> block = MEMORY.floorEntry(address);
        if (block == null) {
            throw new IllegalArgumentException("0x%x is not an address".formatted(address));
        }
        return block.getValue().asSlice(address - block.getKey(), byteSize);
    }

    @Override
    public Device device() {
        return device;
    }

    @Override
    public String identity() {
        return "fake-" + device.index();
    }

    @Override
    public String describe() {
        return "a fake device";
    }

    @Override
    public void bind() {}

    @Override
    public Tensor allocate(DataType dataType, Shape shape) {
        long byteSize = shape.elementCount() * dataType.byteSize();
        long address = NEXT.getAndAdd(Math.max(256, (byteSize + 511) / 256 * 256));
        MEMORY.put(address, Arena.ofAuto().allocate(Math.max(1, byteSize), 64));
        Object owner = new Object();
        CLEANER.register(owner, () -> MEMORY.remove(address));
        return Tensor.of(device, address, dataType, shape, owner);
    }

    @Override
    public PinnedMemory pin(MemorySegment hostMemory) {
        checkNative(hostMemory);
        PINNED.put(hostMemory.address(), hostMemory);
        return () -> PINNED.remove(hostMemory.address());
    }

    /// The copies from or to memory that is not pinned, of all ranks, since the last call: `up` or
    /// `down`.
    static List<String> takeUnpinnedCopies() {
        List<String> copies = List.copyOf(UNPINNED_COPIES);
        UNPINNED_COPIES.clear();
        return copies;
    }

    private static void recordCopy(String direction, MemorySegment hostMemory) {
        Map.Entry<Long, MemorySegment> pages = PINNED.floorEntry(hostMemory.address());
        if (pages == null
                || hostMemory.address() + hostMemory.byteSize()
                        > pages.getKey() + pages.getValue().byteSize()) {
            UNPINNED_COPIES.add(direction);
        }
    }

    @Override
    public synchronized DeviceStream openStream(boolean urgent) {
        DeviceStream stream = FakeStream.open(device);
        streams.add(stream);
        return stream;
    }

    @Override
    public synchronized void closeStream(DeviceStream stream) {
        if (!streams.remove(stream)) {
            throw new IllegalArgumentException(stream + " is not open");
        }
        FakeStream.close(stream);
    }

    @Override
    public DeviceEvent record(DeviceStream stream) {
        return FakeStream.of(stream).record();
    }

    @Override
    public void copyToHost(long source, MemorySegment target, DeviceStream stream) {
        checkNative(target);
        recordCopy("down", target);
        launch(stream, () -> target.copyFrom(memory(source, target.byteSize())));
    }

    @Override
    public void copyToDevice(MemorySegment source, long target, DeviceStream stream) {
        checkNative(source);
        recordCopy("up", source);
        launch(stream, () -> memory(target, source.byteSize()).copyFrom(source));
    }

    private static void checkNative(MemorySegment hostMemory) {
        if (!hostMemory.isNative()) {
            throw new IllegalArgumentException("memory of the heap has no address");
        }
    }

    @Override
    public void copy(long source, long target, long byteSize, DeviceStream stream) {
        launch(stream, () -> memory(target, byteSize).copyFrom(memory(source, byteSize)));
    }

    @Override
    public void fill(
            long target, long elementCount, int elementBytes, long value, DeviceStream stream) {
        launch(
                stream,
                () -> {
                    MemorySegment memory = memory(target, elementCount * elementBytes);
                    for (long i = 0; i < elementCount * elementBytes; i++) {
                        memory.set(
                                ValueLayout.JAVA_BYTE,
                                i,
                                (byte) (value >> (i % elementBytes * Byte.SIZE)));
                    }
                });
    }

    @Override
    public void pack(
            FusedTensors fusedTensors,
            long first,
            long count,
            double factor,
            long target,
            DeviceStream stream) {
        long[] inputs = new long[fusedTensors.tensorCount()]; // read before this method returns
        Arrays.setAll(inputs, fusedTensors::inputAddress);
        int from = fusedTensors.dataType().byteSize();
        int to = fusedTensors.wireType().byteSize();
        launch(
                stream,
                () -> {
                    for (int i = 0; i < inputs.length; i++) {
                        long begin = Math.max(first, fusedTensors.start(i));
                        long end = Math.min(first + count, fusedTensors.start(i + 1));
                        if (begin < end) {
                            convert(
                                    fusedTensors.dataType(),
                                    inputs[i] + (begin - fusedTensors.start(i)) * from,
                                    fusedTensors.wireType(),
                                    target + (begin - first) * to,
                                    end - begin,
                                    factor);
                        }
                    }
                });
    }

    @Override
    public void unpack(
            FusedTensors fusedTensors,
            long source,
            long first,
            long count,
            double factor,
            DeviceStream stream) {
        long[] outputs = new long[fusedTensors.tensorCount()];
        Arrays.setAll(outputs, fusedTensors::outputAddress);
        int from = fusedTensors.wireType().byteSize();
        int to = fusedTensors.dataType().byteSize();
        launch(
                stream,
                () -> {
                    for (int i = 0; i < outputs.length; i++) {
                        long start = fusedTensors.start(i) + fusedTensors.outputStart(i);
                        long begin = Math.max(first, start);
                        long end =
                                Math.min(
                                        first + count,
                                        fusedTensors.start(i) + fusedTensors.outputEnd(i));
                        if (begin < end) {
                            convert(
                                    fusedTensors.wireType(),
                                    source + (begin - first) * from,
                                    fusedTensors.dataType(),
                                    outputs[i] + (begin - start) * to,
                                    end - begin,
                                    factor);
                        }
                    }
                });
    }

    @Override
    public void scale(
            DataType dataType,
            long address,
            long elementCount,
            double factor,
            DeviceStream stream) {
        launch(stream, () -> convert(dataType, address, dataType, address, elementCount, factor));
    }

    private static void convert(
            DataType from, long source, DataType to, long target, long count, double factor) {
        MemorySegment input = memory(source, count * from.byteSize());
        MemorySegment output = memory(target, count * to.byteSize());
        if (from == to && factor == 1) {
            output.copyFrom(input);
            return;
        }
        Elements values = Elements.of(Tensor.of(input, from, Shape.of(count)));
        Elements results = Elements.zerosFor(Tensor.of(output, to, Shape.of(count)));
        for (int i = 0; i < count; i++) {
            results.set(i, values.real(i) * factor);
        }
        Tensor _ = results.store();
    }

    @Override
    public SelectionKernels selections() {
        return new FakeSelections();
    }

    private static void launch(DeviceStream stream, Runnable work) {
        FakeStream.of(stream).launch(work);
    }

    @Override
    public synchronized void close() {
        if (!streams.isEmpty()) {
            throw new IllegalStateException("these streams are open: " + streams);
        }
    }
}
