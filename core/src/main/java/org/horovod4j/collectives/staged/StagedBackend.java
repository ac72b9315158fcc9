package org.horovod4j.collectives.staged;

import org.horovod4j.DataType;
import org.horovod4j.DeviceStream;
import org.horovod4j.HorovodException;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.log.Log;
import org.horovod4j.spi.Backend;
import org.horovod4j.spi.DeviceBackend;
import org.horovod4j.spi.DeviceContext;
import org.horovod4j.spi.DeviceDriver;
import org.horovod4j.spi.DeviceEvent;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.spi.HostCollectives;
import org.jspecify.annotations.Nullable;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.foreign.MemorySegment;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.List;

/// Collectives on a device through main memory: copies tensors down, runs the collective on the CPU,
/// and copies the result up.
///
/// An allreduce works in chunks, in pinned memory that the ranks of the host share, so the CPU reduces
/// in place. While it reduces a chunk, the next ones are copied down on one stream and the results
/// before are copied up on another. The other collectives copy everything down, and then up, through
/// pinned memory too; only the results of allgather and alltoall come in memory of the CPU backend.
///
/// The calling thread waits for copies down and for ranks. When an allreduce returns, its last copies up
/// may still run.
public final class StagedBackend
        implements DeviceBackend,
                Backend.SupportsAllreduce,
                Backend.SupportsAdasum,
                Backend.SupportsReducescatter,
                Backend.SupportsAllgather,
                Backend.SupportsBroadcast,
                Backend.SupportsAlltoall {
    private static final Logger LOG = Log.of(StagedBackend.class);

    /// Large enough for full speed of the copies, small enough for the caches of the CPU.
    static final long CHUNK_BYTES = 4L * 1024 * 1024;

    /// The most chunks in flight. Ranks that share a device get time slices of it: the more chunks are copied
    /// in one, the fewer time slices an allreduce needs. Locked pages cannot be used by other processes: 64 MiB
    /// of them at most.
    static final int MAX_SLOTS = 16;

    /// A multiple of the size of pages. They are locked as a whole, so no two slots are on the same page.
    static final long PAGE_BYTES = 64 * 1024;

    /// How long [#close] waits for copies.
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(2);

    /// The memory of copies that had not ended when a backend was closed. It is never used again.
    private static final List<Object> KEPT = Collections.synchronizedList(new ArrayList<>());

    private final DeviceDriver driver;
    private final DeviceStream stream;
    private final HostCollectives host;
    private final DeviceContext.Activities activities;

    /// For copies to the device, beside those from it.
    private final DeviceStream upStream;

    /// The memory of the chunks in flight: as many slots as the largest allreduce had chunks.
    private final List<Slot> slots = new ArrayList<>();

    /// Smaller if there was no memory for more.
    private int maxSlots = MAX_SLOTS;

    /// For collectives other than allreduce.
    private final StagingMemory staging;

    /// Memory of the device for fused tensors.
    private @Nullable Tensor scratch;

    /// Memory for one chunk.
    ///
    /// @param hostMemory shared with the ranks of the host
    /// @param pinned locks its pages
    /// @param deviceMemory for tensors that are packed
    private record Slot(
            MemorySegment hostMemory, DeviceDriver.PinnedMemory pinned, Tensor deviceMemory) {}

    StagedBackend(DeviceContext context) {
        this.driver = context.driver();
        this.stream = context.stream();
        this.host = hostCollectives(context);
        this.activities = context.activities();
        this.upStream = driver.openStream(true);
        this.staging = new StagingMemory(driver);
    }

    /// The collectives of main memory that this backend uses.
    static HostCollectives hostCollectives(DeviceContext context) {
        if (context.host() instanceof HostCollectives host) {
            return host;
        }
        throw new IllegalArgumentException(
                "HOST cannot be the backend inside each host of a hierarchical allreduce");
    }

    @Override
    public void allreduce(FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor) {
        new Allreduce(fusedTensors, op, scale, divisor).run();
        activities.launched("HOST_ALLREDUCE");
    }

    /// One allreduce.
    private final class Allreduce {
        private final FusedTensors fusedTensors;
        private final ReduceOp op;
        private final Scale scale;
        private final int divisor;
        private final DataType wireType;
        private final boolean isCast;
        private final long chunkElements;

        Allreduce(FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor) {
            this.fusedTensors = fusedTensors;
            this.op = op;
            this.scale = scale;
            this.divisor = divisor;
            this.wireType = fusedTensors.wireType();
            this.isCast = wireType != fusedTensors.dataType();
            this.chunkElements = CHUNK_BYTES / wireType.byteSize();
        }

        void run() {
            int chunks = Math.toIntExact(Math.ceilDiv(fusedTensors.elementCount(), chunkElements));
            addSlots(chunks);
            Deque<DeviceEvent> down = new ArrayDeque<>();
            try {
                for (int chunk = 0; chunk < Math.min(slots.size(), chunks); chunk++) {
                    down.add(copyDown(chunk));
                }
                for (int chunk = 0; chunk < chunks; chunk++) {
                    host.await(down.remove()); // and releases it
                    reduce(chunk);
                    copyUp(chunk);
                    if (chunk + slots.size() < chunks) {
                        awaitUpStream(); // before its slot is written again
                        down.add(copyDown(chunk + slots.size()));
                    }
                }
            } finally {
                down.forEach(DeviceEvent::release); // after a failure
            }
            awaitUpStream();
        }

        private DeviceEvent copyDown(int chunk) {
            long first = chunk * chunkElements;
            long source;
            if (isContiguous()) {
                source = fusedTensors.inputAddress(0) + first * wireType.byteSize();
            } else {
                source = slot(chunk).deviceMemory.deviceAddress();
                driver.pack(
                        fusedTensors,
                        first,
                        count(chunk),
                        isCast ? scale.prescale() : 1,
                        source,
                        stream);
            }
            driver.copyToHost(source, memory(chunk), stream);
            return driver.record(stream);
        }

        private void reduce(int chunk) {
            FusedTensors onHost = new FusedTensors(wireType, count(chunk));
            onHost.set(0, memory(chunk), memory(chunk));
            host.allreduce(onHost, op, isCast ? Scale.NONE : scale, divisor);
        }

        private void copyUp(int chunk) {
            long first = chunk * chunkElements;
            if (isContiguous()) {
                driver.copyToDevice(
                        memory(chunk),
                        fusedTensors.outputAddress(0) + first * wireType.byteSize(),
                        upStream);
            } else {
                long packed = slot(chunk).deviceMemory.deviceAddress();
                driver.copyToDevice(memory(chunk), packed, upStream);
                driver.unpack(
                        fusedTensors,
                        packed,
                        first,
                        count(chunk),
                        isCast ? scale.postscale() : 1,
                        upStream);
            }
        }

        /// Whether nothing needs to be packed.
        private boolean isContiguous() {
            return fusedTensors.tensorCount() == 1 && !isCast;
        }

        private long count(int chunk) {
            return Math.min(chunkElements, fusedTensors.elementCount() - chunk * chunkElements);
        }

        private MemorySegment memory(int chunk) {
            return slot(chunk).hostMemory.asSlice(0, count(chunk) * wireType.byteSize());
        }

        private Slot slot(int chunk) {
            return slots.get(chunk % slots.size());
        }
    }

    private void awaitUpStream() {
        DeviceEvent up = driver.record(upStream);
        up.awaitOn(stream);
        up.release();
    }

    @Override
    public void adasum(FusedTensors fusedTensors, Scale scale) {
        DataType wireType = fusedTensors.wireType();
        boolean isCast = wireType != fusedTensors.dataType();
        staging.begin();
        MemorySegment staged = packDown(fusedTensors, isCast ? scale.prescale() : 1);
        FusedTensors onHost = fusedTensors.withDataType(wireType);
        for (int i = 0; i < onHost.tensorCount(); i++) {
            MemorySegment tensor = slice(staged, onHost, i);
            onHost.set(i, tensor, tensor);
        }
        host.adasum(onHost, isCast ? Scale.NONE : scale);
        long buffer = scratch(staged.byteSize());
        copyUp(staged, buffer);
        driver.unpack(
                fusedTensors,
                buffer,
                0,
                fusedTensors.elementCount(),
                isCast ? scale.postscale() : 1,
                stream);
        synchronize("HOST_ADASUM");
    }

    @Override
    public void reducescatter(FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor) {
        DataType dataType = fusedTensors.dataType();
        staging.begin();
        MemorySegment staged = packDown(fusedTensors, 1);
        FusedTensors onHost = fusedTensors.withDataType(dataType);
        List<MemorySegment> outputs = new ArrayList<>();
        for (int i = 0; i < onHost.tensorCount(); i++) {
            long elements = fusedTensors.outputEnd(i) - fusedTensors.outputStart(i);
            MemorySegment output = staging.take(elements * dataType.byteSize());
            outputs.add(output);
            onHost.set(i, slice(staged, onHost, i), output);
        }
        host.reducescatter(onHost, op, scale, divisor);
        for (int i = 0; i < onHost.tensorCount(); i++) {
            copyUp(outputs.get(i), fusedTensors.outputAddress(i));
        }
        synchronize("HOST_REDUCESCATTER");
    }

    @Override
    public void allgather(List<Tensor> inputs, List<Tensor> outputs, long[][] rows) {
        staging.begin();
        List<Tensor> onHost = inputs.stream().map(this::copyDown).toList();
        synchronize("MEMCPY_IN_HOST_BUFFER");
        List<Tensor> gathered = host.allgather(onHost);
        for (int i = 0; i < outputs.size(); i++) {
            copyUp(gathered.get(i).segment(), outputs.get(i).deviceAddress());
        }
        synchronize("HOST_ALLGATHER");
    }

    @Override
    public void broadcast(Tensor tensor, int rootRank) {
        staging.begin();
        boolean isRoot = host.rank() == rootRank;
        Tensor onHost = isRoot ? copyDown(tensor) : onHost(tensor);
        if (isRoot) {
            synchronize("MEMCPY_IN_HOST_BUFFER");
        }
        host.broadcast(onHost, rootRank);
        if (!isRoot) {
            copyUp(onHost.segment(), tensor.deviceAddress());
        }
        synchronize("HOST_BCAST");
    }

    @Override
    public void alltoall(Tensor input, Tensor output, long[][] rows) {
        staging.begin();
        Tensor onHost = copyDown(input);
        synchronize("MEMCPY_IN_HOST_BUFFER");
        int[] splits = Arrays.stream(rows[host.rank()]).mapToInt(Math::toIntExact).toArray();
        Tensor received = host.alltoall(onHost, splits).tensor();
        copyUp(received.segment(), output.deviceAddress());
        synchronize("HOST_ALLTOALL");
    }

    /// Packs all tensors and copies them to main memory.
    private MemorySegment packDown(FusedTensors fusedTensors, double factor) {
        long byteSize = fusedTensors.elementCount() * fusedTensors.wireType().byteSize();
        MemorySegment target = staging.take(byteSize);
        if (byteSize > 0) {
            long buffer = scratch(byteSize);
            driver.pack(fusedTensors, 0, fusedTensors.elementCount(), factor, buffer, stream);
            driver.copyToHost(buffer, target, stream);
        }
        synchronize("MEMCPY_IN_HOST_BUFFER");
        return target;
    }

    /// Memory for the elements of a tensor of the device.
    private Tensor onHost(Tensor tensor) {
        return Tensor.of(staging.take(tensor.byteSize()), tensor.dataType(), tensor.shape());
    }

    private Tensor copyDown(Tensor tensor) {
        Tensor onHost = onHost(tensor);
        if (onHost.byteSize() > 0) {
            driver.copyToHost(tensor.deviceAddress(), onHost.segment(), stream);
        }
        return onHost;
    }

    private void copyUp(MemorySegment source, long target) {
        if (source.byteSize() > 0) {
            driver.copyToDevice(source, target, stream);
        }
    }

    /// Waits for the stream: the memory on the host that it uses is free then.
    private void synchronize(String activity) {
        host.await(driver.record(stream));
        activities.launched(activity);
    }

    private static MemorySegment slice(MemorySegment memory, FusedTensors fusedTensors, int index) {
        int byteSize = fusedTensors.dataType().byteSize();
        long start = fusedTensors.start(index);
        return memory.asSlice(start * byteSize, (fusedTensors.start(index + 1) - start) * byteSize);
    }

    /// Memory of the device that no work uses.
    private long scratch(long byteSize) {
        Tensor current = scratch;
        if (current == null || current.byteSize() < byteSize) {
            current = driver.allocate(DataType.UINT8, Shape.of(byteSize));
            scratch = current;
        }
        return current.deviceAddress();
    }

    /// Adds slots for an allreduce of this many chunks. Works with fewer slots; throws if there is none.
    private void addSlots(int chunks) {
        while (slots.size() < Math.min(chunks, maxSlots)) {
            try {
                slots.add(newSlot());
            } catch (HorovodException e) {
                if (slots.isEmpty()) {
                    throw e;
                }
                maxSlots = slots.size();
                LOG.log(
                        Level.WARNING,
                        () ->
                                "Allreduce by HOST has %d chunks in flight instead of %d, which is slower: %s"
                                        .formatted(maxSlots, MAX_SLOTS, e.getMessage()));
            }
        }
    }

    private Slot newSlot() {
        Shape shape = Shape.of(CHUNK_BYTES + PAGE_BYTES);
        MemorySegment memory = host.allocate(DataType.UINT8, shape).segment();
        long start = -memory.address() & (PAGE_BYTES - 1);
        MemorySegment pages = memory.asSlice(start, CHUNK_BYTES);
        Tensor deviceMemory = driver.allocate(DataType.UINT8, Shape.of(CHUNK_BYTES));
        // last, so that no pages stay locked if there is no memory of the device
        return new Slot(pages, driver.pin(pages), deviceMemory);
    }

    /// Does nothing: the calling thread has seen every failure.
    @Override
    public void check() {}

    /// Does nothing: no work on the device waits for another rank.
    @Override
    public void abort() {}

    /// Frees the memory when no copy uses it. If copies wait for a stream of the program that has
    /// stopped, it stays until the process ends, so that the copies write to no other memory.
    @Override
    public void close() {
        try {
            if (awaitStreams(driver, stream, upStream)) {
                try (staging) {
                    slots.forEach(slot -> slot.pinned.close());
                }
            } else {
                keep(List.copyOf(slots), staging, scratch);
            }
        } finally {
            driver.closeStream(upStream);
            slots.clear();
            scratch = null;
        }
    }

    /// Waits for the work of these streams, for some time.
    ///
    /// @return whether it is complete
    static boolean awaitStreams(DeviceDriver driver, DeviceStream down, DeviceStream up) {
        long deadline = System.nanoTime() + CLOSE_TIMEOUT.toNanos();
        return driver.record(down).awaitUntil(deadline) && driver.record(up).awaitUntil(deadline);
    }

    /// Keeps memory until the process ends.
    static void keep(@Nullable Object... memory) {
        KEPT.addAll(Arrays.asList(memory));
    }
}
