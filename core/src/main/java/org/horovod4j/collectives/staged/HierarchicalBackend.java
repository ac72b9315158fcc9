package org.horovod4j.collectives.staged;

import org.horovod4j.DataType;
import org.horovod4j.DeviceStream;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.spi.Backend;
import org.horovod4j.spi.DeviceBackend;
import org.horovod4j.spi.DeviceBackendProvider;
import org.horovod4j.spi.DeviceContext;
import org.horovod4j.spi.DeviceDriver;
import org.horovod4j.spi.DeviceEvent;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.spi.HostCollectives;
import org.horovod4j.spi.HostExchange;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.List;

/// Allreduce in three parts: reducescatter on the devices of each host, allreduce between hosts in
/// main memory, allgather on the devices of each host.
///
/// With `n` hosts of `m` ranks, a rank copies `1 / m` of the tensors down and up, and sends
/// `2(n - 1) / n` of that to other hosts: all ranks of a host use the network at the same time.
///
/// It works in chunks. While the CPU reduces the slice of a chunk, the devices reduce the next chunks.
final class HierarchicalBackend implements DeviceBackend, Backend.SupportsAllreduce {
    /// What a rank copies down at a time. A chunk has a slice for each rank of the host.
    private static final long SLICE_BYTES = StagedBackend.CHUNK_BYTES;

    /// One chunk is reduced on the devices, one between hosts, one gathered.
    private static final int SLOTS = 3;

    private final DeviceDriver driver;
    private final DeviceStream stream;
    private final HostCollectives host;
    private final DeviceContext.Activities activities;

    /// The backend inside this host, and this rank in it.
    private final DeviceBackend local;

    private final int localRank;
    private final int localSize;

    /// For copies to the device, beside those from it.
    private final DeviceStream upStream;

    private @Nullable ChunkSlots slots;

    /// The chunks of an allreduce in flight.
    ///
    /// @param hostMemory the slices in main memory
    /// @param pinned locks its pages
    /// @param deviceMemory the slice and the chunk of each slot
    private record ChunkSlots(
            Tensor hostMemory,
            DeviceDriver.PinnedMemory pinned,
            Tensor deviceMemory,
            int localSize) {
        MemorySegment onHost(int slot, long byteSize) {
            return hostMemory.segment().asSlice(slot * SLICE_BYTES, byteSize);
        }

        long slice(int slot) {
            return deviceMemory.deviceAddress() + (long) slot * (localSize + 1) * SLICE_BYTES;
        }

        long chunk(int slot) {
            return slice(slot) + SLICE_BYTES;
        }
    }

    HierarchicalBackend(DeviceContext context, DeviceBackendProvider provider) {
        this.driver = context.driver();
        this.stream = context.stream();
        this.host = StagedBackend.hostCollectives(context);
        this.activities = context.activities();
        List<Integer> ranks =
                HierarchicalProvider.hosts(context.places()).stream()
                        .filter(each -> each.contains(host.rank()))
                        .findFirst()
                        .orElseThrow();
        this.localRank = ranks.indexOf(host.rank());
        this.localSize = ranks.size();
        this.upStream = driver.openStream(true);
        try {
            this.local =
                    provider.create(
                            new DeviceContext(
                                    driver,
                                    stream,
                                    new RanksOfHost(host, ranks),
                                    ranks.stream().map(context.places()::get).toList(),
                                    activities));
        } catch (RuntimeException | Error e) {
            driver.closeStream(upStream);
            throw e;
        }
    }

    @Override
    public void allreduce(FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor) {
        new Allreduce(fusedTensors, op, scale, divisor).run();
    }

    /// One allreduce.
    private final class Allreduce {
        private final FusedTensors fusedTensors;
        private final DataType wireType;
        private final ReduceOp op;
        private final double prescale;
        private final double postscale;
        private final long chunkElements;
        private final ChunkSlots chunkSlots = slots();

        Allreduce(FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor) {
            this.fusedTensors = fusedTensors;
            this.wireType = fusedTensors.wireType();
            boolean isAverage = op == ReduceOp.AVERAGE;
            this.op = isAverage ? ReduceOp.SUM : op;
            this.prescale = scale.prescale();
            this.postscale = isAverage ? scale.postscale() / divisor : scale.postscale();
            this.chunkElements = localSize * (SLICE_BYTES / wireType.byteSize());
        }

        void run() {
            int chunks = Math.toIntExact(Math.ceilDiv(fusedTensors.elementCount(), chunkElements));
            DeviceEvent[] down = new DeviceEvent[chunks];
            for (int chunk = 0; chunk < Math.min(SLOTS, chunks); chunk++) {
                down[chunk] = reduceInHost(chunk);
            }
            for (int chunk = 0; chunk < chunks; chunk++) {
                host.await(down[chunk]);
                reduceBetweenHosts(chunk);
                gatherInHost(chunk);
                if (chunk + SLOTS < chunks) {
                    down[chunk + SLOTS] = reduceInHost(chunk + SLOTS);
                }
            }
        }

        /// @return when the slice of this rank is in main memory
        private DeviceEvent reduceInHost(int chunk) {
            int slot = chunk % SLOTS;
            driver.pack(
                    fusedTensors,
                    chunk * chunkElements,
                    count(chunk),
                    prescale,
                    chunkSlots.chunk(slot),
                    stream);
            activities.launched("MEMCPY_IN_FUSION_BUFFER");
            FusedTensors scattered =
                    FusedTensors.forReducescatter(
                            wireType,
                            List.of(Shape.of(sliceElements(chunk) * localSize)),
                            localRank,
                            localSize);
            scattered.setAddresses(0, chunkSlots.chunk(slot), chunkSlots.slice(slot));
            ((Backend.SupportsReducescatter) local).reducescatter(scattered, op, Scale.NONE, 1);
            awaitLocal();
            driver.copyToHost(chunkSlots.slice(slot), memory(chunk), stream);
            activities.launched("MEMCPY_IN_HOST_BUFFER");
            return driver.record(stream);
        }

        private void reduceBetweenHosts(int chunk) {
            FusedTensors slice = new FusedTensors(wireType, sliceElements(chunk));
            slice.set(0, memory(chunk), memory(chunk));
            host.crossAllreduce(slice, op);
            activities.launched("CROSS_ALLREDUCE");
        }

        private void gatherInHost(int chunk) {
            int slot = chunk % SLOTS;
            driver.copyToDevice(memory(chunk), chunkSlots.slice(slot), upStream);
            await(upStream);
            activities.launched("MEMCPY_OUT_HOST_BUFFER");
            long share = sliceElements(chunk);
            long[][] rows = new long[localSize][];
            Arrays.setAll(rows, _ -> new long[] {share});
            ((Backend.SupportsAllgather) local)
                    .allgather(
                            List.of(tensor(chunkSlots.slice(slot), share)),
                            List.of(tensor(chunkSlots.chunk(slot), share * localSize)),
                            rows);
            awaitLocal();
            driver.unpack(
                    fusedTensors,
                    chunkSlots.chunk(slot),
                    chunk * chunkElements,
                    count(chunk),
                    postscale,
                    stream);
            activities.launched("MEMCPY_OUT_FUSION_BUFFER");
        }

        private Tensor tensor(long address, long elements) {
            return Tensor.of(driver.device(), address, wireType, Shape.of(elements));
        }

        private long count(int chunk) {
            return Math.min(chunkElements, fusedTensors.elementCount() - chunk * chunkElements);
        }

        /// All ranks have equally many elements of a chunk: those behind its end are not used.
        private long sliceElements(int chunk) {
            return Math.ceilDiv(count(chunk), (long) localSize);
        }

        private MemorySegment memory(int chunk) {
            return chunkSlots.onHost(chunk % SLOTS, sliceElements(chunk) * wireType.byteSize());
        }
    }

    /// Lets the stream wait for the results of the backend inside this host.
    private void awaitLocal() {
        DeviceStream results = local.resultStream(stream);
        if (!results.equals(stream)) {
            await(results);
        }
    }

    private void await(DeviceStream other) {
        DeviceEvent event = driver.record(other);
        event.awaitOn(stream);
        event.release();
    }

    private ChunkSlots slots() {
        ChunkSlots current = slots;
        if (current == null) {
            Tensor hostMemory = host.allocate(DataType.UINT8, Shape.of(SLOTS * SLICE_BYTES));
            Tensor deviceMemory =
                    driver.allocate(
                            DataType.UINT8, Shape.of((long) SLOTS * (localSize + 1) * SLICE_BYTES));
            // last, as only this needs to be undone
            DeviceDriver.PinnedMemory pinned = driver.pin(hostMemory.segment());
            current = new ChunkSlots(hostMemory, pinned, deviceMemory, localSize);
            slots = current;
        }
        return current;
    }

    @Override
    public void check() {
        local.check();
    }

    @Override
    public void abort() {
        local.abort();
    }

    /// Frees the memory when no copy uses it, as [StagedBackend#close] does.
    @Override
    public void close() {
        try {
            local.close();
        } finally {
            try {
                ChunkSlots used = slots;
                if (used != null) {
                    if (StagedBackend.awaitStreams(driver, stream, upStream)) {
                        used.pinned.close();
                    } else {
                        StagedBackend.keep(used);
                    }
                }
            } finally {
                driver.closeStream(upStream);
                slots = null;
            }
        }
    }

    /// The ranks of this host, for the backend inside it. The ranks of all hosts make the same calls, and
    /// each host uses its own part.
    private record RanksOfHost(HostExchange all, List<Integer> ranks) implements HostExchange {
        @Override
        public int rank() {
            return ranks.indexOf(all.rank());
        }

        @Override
        public int size() {
            return ranks.size();
        }

        @Override
        public void check() {
            all.check();
        }

        @Override
        public void await(DeviceEvent event) {
            all.await(event);
        }

        @Override
        public void barrier() {
            all.barrier();
        }

        @Override
        public List<byte[]> allgather(byte[] mine) {
            List<byte[]> ofAll = all.allgather(mine);
            return ranks.stream().map(ofAll::get).toList();
        }
    }
}
