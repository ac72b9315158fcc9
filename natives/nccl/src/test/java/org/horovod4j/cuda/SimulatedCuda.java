package org.horovod4j.cuda;

import static java.lang.foreign.ValueLayout.JAVA_DOUBLE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static java.util.Objects.requireNonNull;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.collectives.kernel.AdasumKernel;
import org.horovod4j.collectives.kernel.DotProducts;
import org.horovod4j.collectives.kernel.HalfArrays;
import org.horovod4j.collectives.kernel.Kernels;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.Locale;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/// A GPU in main memory: streams are threads, which run as late as they like, and kernels are those of
/// the CPU. It finds missing waits between streams, and wrong addresses and parameters.
///
/// `memoryHandle` and `openMemory` are those of ranks in one process: see [SharedStages].
final class SimulatedCuda implements CudaApi {
    private static final int POINTER = 8;
    private static final long WAIT_NANOS = 10_000;

    /// A number in memory that streams wait for.
    private static final VarHandle VALUE = JAVA_INT.varHandle();

    private final int devices;

    /// The device of the current context.
    private final ThreadLocal<Integer> current = ThreadLocal.withInitial(() -> 0);

    /// `device:peer` of each peer access.
    private final Set<String> peerAccess = ConcurrentHashMap.newKeySet();

    private final Map<Long, Integer> streamDevices = new ConcurrentHashMap<>();
    private final Map<Long, Integer> priorities = new ConcurrentHashMap<>();
    private final NavigableMap<Long, Integer> memoryDevices = new ConcurrentSkipListMap<>();
    private final Map<Long, MemorySegment> memory = new ConcurrentHashMap<>();

    /// Memory that was freed. Its addresses are not given out again, so that every use is found.
    private final NavigableMap<Long, MemorySegment> freed = new ConcurrentSkipListMap<>();

    private final AtomicLong allocatedBytes = new AtomicLong();
    private volatile long capacity = Long.MAX_VALUE;
    private volatile long slowReductions;
    private final Map<Long, ExecutorService> streams = new ConcurrentHashMap<>();
    private final Map<Long, Recording> events = new ConcurrentHashMap<>();
    private final Map<Long, String> functions = new ConcurrentHashMap<>();
    private final AtomicLong handles = new AtomicLong(1);
    private final AtomicInteger seeds = new AtomicInteger();
    private final Kernels kernels = Kernels.scalar();
    private volatile @Nullable Throwable failure;

    /// How often an event was recorded, and how many of these records are reached.
    private static final class Recording {
        volatile long recorded;
        volatile long reached;
    }

    SimulatedCuda() {
        this(1);
    }

    /// GPUs that all have peer access, once it is enabled.
    SimulatedCuda(int devices) {
        this.devices = devices;
    }

    @Override
    public int version() {
        return 13_000;
    }

    @Override
    public int deviceCount() {
        return devices;
    }

    @Override
    public String deviceName(int device) {
        return "simulated GPU";
    }

    @Override
    public byte[] deviceUuid(int device) {
        byte[] uuid = new byte[16];
        uuid[0] = (byte) device;
        return uuid;
    }

    @Override
    public int deviceAttribute(int attribute, int device) {
        return attribute == COMPUTE_CAPABILITY_MINOR ? 0 : 9;
    }

    @Override
    public long retainContext(int device) {
        return device + 1L;
    }

    @Override
    public void setCurrent(long context) {
        current.set((int) context - 1);
    }

    @Override
    public boolean canAccessPeer(int device, int peer) {
        return true;
    }

    @Override
    public void enablePeerAccess(long peerContext) {
        peerAccess.add(current.get() + ":" + (peerContext - 1));
    }

    @Override
    public long allocate(long byteSize) {
        if (allocatedBytes.addAndGet(byteSize) > capacity) {
            allocatedBytes.addAndGet(-byteSize);
            throw new CudaException(OUT_OF_MEMORY, "cuMemAlloc: out of memory");
        }
        MemorySegment segment = Arena.ofAuto().allocate(byteSize, 256).fill((byte) 0x5a);
        memory.put(segment.address(), segment);
        memoryDevices.put(segment.address(), current.get());
        return segment.address();
    }

    /// Sets how many bytes it has.
    void limit(long byteSize) {
        capacity = byteSize;
    }

    /// Stops a stream until `end`.
    void stop(long stream, CountDownLatch end) {
        submit(
                stream,
                () -> {
                    try {
                        end.await();
                    } catch (InterruptedException _) {
                        Thread.currentThread().interrupt();
                    }
                });
    }

    /// Lets reductions on a stream take long.
    void slowReductions(long stream) {
        slowReductions = stream;
    }

    @Override
    public void free(long address) {
        MemorySegment segment = requireNonNull(memory.remove(address), "freed twice");
        freed.put(address, segment);
        allocatedBytes.addAndGet(-segment.byteSize());
    }

    /// How much is allocated.
    int allocations() {
        return memory.size();
    }

    /// How many bytes are allocated.
    long allocatedBytes() {
        return allocatedBytes.get();
    }

    /// How many events were created and not destroyed.
    int events() {
        return events.size();
    }

    @Override
    public void registerHost(long address, long byteSize) {}

    @Override
    public void unregisterHost(long address) {}

    @Override
    public void copy(long target, long source, long byteSize, long stream) {
        submit(stream, () -> at(target, byteSize).copyFrom(at(source, byteSize)));
    }

    @Override
    public void fill(long target, byte value, long byteSize, long stream) {
        submit(stream, () -> at(target, byteSize).fill(value));
    }

    @Override
    public int[] priorityRange() {
        return new int[] {0, -5};
    }

    @Override
    public long createStream(int priority) {
        long handle = handles.getAndIncrement();
        streamDevices.put(handle, current.get());
        priorities.put(handle, priority);
        streams.put(handle, Executors.newSingleThreadExecutor());
        return handle;
    }

    /// The priority that a stream was created with.
    int priority(long stream) {
        return requireNonNull(priorities.get(stream), "no such stream");
    }

    @Override
    public void destroyStream(long stream) {
        requireNonNull(streams.remove(stream), "closed twice").shutdown();
    }

    @Override
    public void synchronizeStream(long stream) {
        Future<?> end = executor(stream).submit(() -> {});
        while (!end.isDone()) {
            Thread.onSpinWait();
        }
        check();
    }

    /// Waits for the last record before this call, as CUDA does.
    @Override
    public void waitForEvent(long stream, long event) {
        Recording recording = recording(event);
        long record = recording.recorded;
        submit(
                stream,
                () -> {
                    while (recording.reached < record) {
                        LockSupport.parkNanos(WAIT_NANOS);
                    }
                });
    }

    @Override
    public void writeValue(long stream, long address, int value) {
        submit(stream, () -> VALUE.setVolatile(at(address, Integer.BYTES), 0L, value));
    }

    @Override
    public void waitForValue(long stream, long address, int value) {
        submit(
                stream,
                () -> {
                    while ((int) VALUE.getVolatile(at(address, Integer.BYTES), 0L) - value < 0) {
                        LockSupport.parkNanos(WAIT_NANOS);
                    }
                });
    }

    private ExecutorService executor(long stream) {
        return requireNonNull(streams.get(stream), "no such stream");
    }

    private Recording recording(long event) {
        return requireNonNull(events.get(event), "no such event");
    }

    @Override
    public long createEvent(int flags) {
        long handle = handles.getAndIncrement();
        events.put(handle, new Recording());
        return handle;
    }

    @Override
    public void destroyEvent(long event) {
        events.remove(event);
    }

    @Override
    public void recordEvent(long event, long stream) {
        Recording recording = recording(event);
        long record = recording.recorded + 1;
        recording.recorded = record;
        submit(stream, () -> recording.reached = record);
    }

    @Override
    public boolean isEventDone(long event) {
        check();
        Recording recording = recording(event);
        return recording.reached == recording.recorded;
    }

    @Override
    public byte[] memoryHandle(long address) {
        return new byte[IPC_HANDLE_BYTES];
    }

    @Override
    public long openMemory(byte[] handle) {
        throw new UnsupportedOperationException("ranks of one process");
    }

    @Override
    public void closeMemory(long address) {
        throw new UnsupportedOperationException("ranks of one process");
    }

    @Override
    public long loadModule(MemorySegment ptx) {
        return 1;
    }

    @Override
    public long function(long module, String name) {
        long handle = handles.getAndIncrement();
        functions.put(handle, name);
        return handle;
    }

    /// Reads the parameters at once, as the driver does, and runs the kernel on the stream.
    @Override
    public void launch(
            long function, int blocks, int threads, long stream, MemorySegment parameters) {
        String name = requireNonNull(functions.get(function), "no such function");
        if (blocks < 1 || threads < 1) {
            throw new CudaException(1, name + " has no threads");
        }
        Runnable kernel = kernel(name, blocks, parameters);
        if (stream == slowReductions && name.startsWith("hvd_reduce_")) {
            submit(stream, () -> LockSupport.parkNanos(200_000_000));
        }
        submit(stream, kernel);
    }

    private Runnable kernel(String name, int blocks, MemorySegment parameters) {
        if (name.equals("hvd_copy_bytes")) {
            return copies(
                    parameters,
                    blocks,
                    CopyBatch.BYTES_PER_BLOCK,
                    (s, t, n, _) -> at(t, n).copyFrom(at(s, n)));
        }
        if (name.startsWith("hvd_convert_")) {
            String[] types = name.substring("hvd_convert_".length()).split("_", -1);
            DataType from = type(types[0]);
            DataType to = type(types[1]);
            return copies(
                    parameters,
                    blocks,
                    CopyBatch.ELEMENTS_PER_BLOCK,
                    (source, target, count, factor) ->
                            convert(from, to, source, target, count, factor));
        }
        if (name.startsWith("hvd_reduce_")) {
            return reduction(type(name.substring("hvd_reduce_".length())), parameters);
        }
        if (name.startsWith("hvd_adasum_")) {
            return adasum(name, parameters);
        }
        throw new UnsupportedOperationException(name);
    }

    private interface Copy {
        void run(long source, long target, long count, double factor);
    }

    private Runnable copies(MemorySegment parameters, int blocks, int perBlock, Copy copy) {
        int max = CopyBatch.MAX_COPIES;
        MemorySegment table = parameter(parameters, 0, 28L * max + 4);
        int count = table.get(JAVA_INT, 28L * max);
        long[] values = table.asSlice(0, 24L * max).toArray(JAVA_LONG);
        int[] firstBlocks = table.asSlice(24L * max, 4L * max).toArray(JAVA_INT);
        double factor = parameter(parameters, 1, 8).get(JAVA_DOUBLE, 0);
        long next = 0;
        for (int i = 0; i < count; i++) {
            if (firstBlocks[i] != next) {
                throw new CudaException(
                        1,
                        "copy %d starts at block %d, not at %d".formatted(i, firstBlocks[i], next));
            }
            next += Math.ceilDiv(values[2 * max + i], (long) perBlock);
        }
        if (next != blocks) {
            throw new CudaException(1, "%d blocks instead of %d".formatted(blocks, next));
        }
        return () -> {
            for (int i = 0; i < count; i++) {
                copy.run(values[i], values[max + i], values[2 * max + i], factor);
            }
        };
    }

    private void convert(
            DataType from, DataType to, long source, long target, long count, double factor) {
        MemorySegment scaled = Arena.ofAuto().allocate(count * from.byteSize(), 8);
        scaled.copyFrom(at(source, count * from.byteSize()));
        if (factor != 1.0) {
            kernels.scale(from, scaled, 0, count, factor);
        }
        if (from == to) {
            at(target, count * to.byteSize()).copyFrom(scaled);
            return;
        }
        for (long i = 0; i < count; i++) {
            float[] value = {load(from, scaled, i)};
            store(to, at(target, count * to.byteSize()), i, value);
        }
    }

    private static float load(DataType dataType, MemorySegment memory, long i) {
        float[] value = new float[1];
        switch (dataType) {
            case FLOAT32 -> value[0] = memory.get(ValueLayout.JAVA_FLOAT_UNALIGNED, 4 * i);
            case FLOAT64 -> value[0] = (float) memory.get(ValueLayout.JAVA_DOUBLE_UNALIGNED, 8 * i);
            default ->
                    HalfArrays.widen(
                            dataType,
                            new short[] {memory.get(ValueLayout.JAVA_SHORT_UNALIGNED, 2 * i)},
                            value,
                            1);
        }
        return value[0];
    }

    private static void store(DataType dataType, MemorySegment memory, long i, float[] value) {
        switch (dataType) {
            case FLOAT32 -> memory.set(ValueLayout.JAVA_FLOAT_UNALIGNED, 4 * i, value[0]);
            case FLOAT64 -> memory.set(ValueLayout.JAVA_DOUBLE_UNALIGNED, 8 * i, value[0]);
            default -> {
                short[] half = new short[1];
                HalfArrays.narrow(dataType, value, half, 1);
                memory.set(ValueLayout.JAVA_SHORT_UNALIGNED, 2 * i, half[0]);
            }
        }
    }

    private Runnable reduction(DataType dataType, MemorySegment parameters) {
        long target = longAt(parameters, 0);
        MemorySegment sources = parameter(parameters, 1, 520);
        int sourceCount = sources.get(JAVA_INT, 8L * CudaKernels.MAX_SOURCES);
        long[] addresses = sources.asSlice(0, 8L * sourceCount).toArray(JAVA_LONG);
        long count = longAt(parameters, 2);
        MemorySegment reduction = parameter(parameters, 3, 32);
        double prescale = reduction.get(JAVA_DOUBLE, 0);
        double postscale = reduction.get(JAVA_DOUBLE, 8);
        long divisor = reduction.get(JAVA_LONG, 16);
        ReduceOp op = ReduceOp.values()[reduction.get(JAVA_INT, 24)];
        long byteSize = count * dataType.byteSize();
        return () -> {
            MemorySegment[] copies = new MemorySegment[sourceCount];
            for (int i = 0; i < sourceCount; i++) {
                copies[i] = Arena.ofAuto().allocate(byteSize, 64);
                copies[i].copyFrom(at(addresses[i], byteSize));
                if (prescale != 1.0) {
                    kernels.scale(dataType, copies[i], 0, count, prescale);
                }
            }
            MemorySegment result = at(target, byteSize);
            kernels.reduce(
                    dataType, op, result, 0, copies, new long[sourceCount], sourceCount, count);
            if (op == ReduceOp.AVERAGE && divisor > 1) {
                kernels.divide(dataType, result, 0, count, divisor);
            }
            if (postscale != 1.0) {
                kernels.scale(dataType, result, 0, count, postscale);
            }
        };
    }

    /// The products of all blocks are written as if they were those of the first.
    private Runnable adasum(String name, MemorySegment parameters) {
        DataType dataType =
                name.equals("hvd_adasum_sum")
                        ? DataType.FLOAT32
                        : type(name.substring(name.lastIndexOf('_') + 1));
        long first = longAt(parameters, 0);
        long second = longAt(parameters, 1);
        long third = longAt(parameters, 2);
        if (name.equals("hvd_adasum_sum")) {
            return () -> at(third, DotProducts.BYTES).copyFrom(at(first, DotProducts.BYTES));
        }
        AdasumKernel kernel = new AdasumKernel(kernels);
        long fourth = longAt(parameters, 3);
        if (name.startsWith("hvd_adasum_products_")) {
            long byteSize = third * dataType.byteSize();
            return () ->
                    kernel.products(
                                    dataType,
                                    at(first, byteSize),
                                    0,
                                    at(second, byteSize),
                                    0,
                                    third)
                            .write(at(fourth, DotProducts.BYTES), 0);
        }
        long total = longAt(parameters, 4);
        long byteSize = fourth * dataType.byteSize();
        return () ->
                kernel.combine(
                        dataType,
                        DotProducts.read(at(total, DotProducts.BYTES), 0).weights(),
                        at(first, byteSize),
                        0,
                        at(second, byteSize),
                        0,
                        at(third, byteSize),
                        0,
                        fourth);
    }

    private static DataType type(String name) {
        return DataType.valueOf(name.toUpperCase(Locale.ROOT));
    }

    private long longAt(MemorySegment parameters, int index) {
        return parameter(parameters, index, 8).get(JAVA_LONG, 0);
    }

    private MemorySegment parameter(MemorySegment parameters, int index, long byteSize) {
        return at(parameters.get(JAVA_LONG, (long) index * POINTER), byteSize);
    }

    private MemorySegment at(long address, long byteSize) {
        Map.Entry<Long, MemorySegment> below = freed.floorEntry(address);
        if (below != null && address < below.getKey() + below.getValue().byteSize()) {
            throw new CudaException(700, "memory is used after it was freed");
        }
        checkPeerAccess(address);
        return MemorySegment.ofAddress(address).reinterpret(byteSize);
    }

    /// Memory of another device needs peer access. The host memory of copies has no device.
    private void checkPeerAccess(long address) {
        Map.Entry<Long, Integer> block = memoryDevices.floorEntry(address);
        if (block == null || devices == 1) {
            return;
        }
        MemorySegment segment = memory.get(block.getKey());
        boolean isInside = segment != null && address < block.getKey() + segment.byteSize();
        int device = current.get();
        if (isInside
                && block.getValue() != device
                && !peerAccess.contains(device + ":" + block.getValue())) {
            throw new CudaException(
                    700, "device %d uses memory of device %d".formatted(device, block.getValue()));
        }
    }

    /// Work starts some time later, as on a device that is busy.
    private void submit(long stream, Runnable work) {
        check();
        Random random = new Random(seeds.getAndIncrement());
        Integer device = streamDevices.get(stream);
        executor(stream)
                .execute(
                        () -> {
                            current.set(requireNonNull(device, "no such stream"));
                            try {
                                LockSupport.parkNanos(random.nextInt(30_000));
                                work.run();
                            } catch (RuntimeException | Error e) {
                                failure = e;
                            }
                        });
    }

    private void check() {
        if (failure != null) {
            throw new IllegalStateException("a kernel failed", failure);
        }
    }
}
