package org.horovod4j.cuda;

import org.horovod4j.DataType;
import org.horovod4j.HorovodException;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Tensor;
import org.horovod4j.collectives.algorithm.AdasumTree;
import org.horovod4j.spi.Backend;
import org.horovod4j.spi.DeviceBackend;
import org.horovod4j.spi.DeviceContext;
import org.horovod4j.spi.DeviceDriver;
import org.horovod4j.spi.DeviceEvent;
import org.horovod4j.spi.FusedTensors;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;

/// Collectives of ranks that share a GPU. Each rank writes its data to a stage in device memory, which
/// the others read; nothing goes through main memory.
///
/// | collective    | a rank writes to its stage | and reads                              |
/// |---------------|----------------------------|----------------------------------------|
/// | allreduce     | its tensors                | all stages, which it reduces           |
/// | adasum        | its tensors                | all stages, which it combines          |
/// | reducescatter | its tensors                | its own part of all stages             |
/// | allgather     | its rows                   | all stages                             |
/// | broadcast     | the tensor, on the root    | the stage of the root                  |
/// | alltoall      | its rows                   | its own part of all stages             |
///
/// Every rank reduces all elements, in the order of ranks: all get the same bits, which are those of the
/// CPU. That reads `n` times as much as dividing the work would, but needs one exchange instead of two;
/// it pays for the few ranks that share a GPU.
final class CudaIpcBackend
        implements DeviceBackend,
                Backend.SupportsAllreduce,
                Backend.SupportsAdasum,
                Backend.SupportsReducescatter,
                Backend.SupportsAllgather,
                Backend.SupportsBroadcast,
                Backend.SupportsAlltoall {
    /// How long [#close] waits for the work of the device. Other ranks are a kernel behind at most.
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(2);

    static final Duration POLL_WAIT = Duration.ofNanos(50_000);

    private final CudaDevice device;
    private final DeviceContext context;
    private final DeviceDriver driver;
    private final CudaKernels kernels;
    private final long stream;
    private final int rank;
    private final int size;

    /// The most data of a round.
    private final long maxRoundBytes;

    /// The last ones are the largest. A launch does not wait until smaller ones are no longer used, so
    /// all stay until the end. The monitor ends the waits of all.
    private final List<SharedStages> stages = new CopyOnWriteArrayList<>();

    /// Memory for what this rank has reduced, before it is unpacked; the last one is the largest, as
    /// above.
    private final List<Scratch> scratches = new ArrayList<>();

    private volatile boolean aborted;

    /// @param firstRoundBytes what ranks can exchange at a time, until a larger tensor comes
    /// @param maxRoundBytes what ranks can exchange at a time then; more only for Adasum
    CudaIpcBackend(
            CudaDevice device, DeviceContext context, long firstRoundBytes, long maxRoundBytes) {
        this.device = device;
        this.context = context;
        this.driver = context.driver();
        this.kernels = device.kernels();
        this.stream = context.stream().handle();
        this.rank = context.host().rank();
        this.size = context.host().size();
        this.maxRoundBytes = maxRoundBytes;
        stages.add(new SharedStages(device, context, firstRoundBytes));
    }

    private record Scratch(long address, long byteSize) {}

    @Override
    public void allreduce(FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor) {
        DataType wireType = fusedTensors.wireType();
        boolean direct = fusedTensors.tensorCount() == 1 && wireType == fusedTensors.dataType();
        // a compressed tensor is scaled in its own type, before and after it is sent
        boolean scaledByKernel = wireType == fusedTensors.dataType();
        Scale kernelScale = scaledByKernel ? scale : Scale.NONE;
        long count = fusedTensors.elementCount();
        SharedStages rounds = roundsFor(count * wireType.byteSize());
        long perRound = rounds.halfBytes() / wireType.byteSize();
        long results = direct ? 0 : scratch(Math.min(perRound, count) * wireType.byteSize());
        for (long first = 0; first < count; first += perRound) {
            long elements = Math.min(perRound, count - first);
            SharedStages.Half half = begin(rounds);
            driver.pack(
                    fusedTensors,
                    first,
                    elements,
                    scaledByKernel ? 1.0 : scale.prescale(),
                    half.own(),
                    context.stream());
            context.activities().launched("MEMCPY_IN_FUSION_BUFFER");
            half.publish();
            context.activities().launched("WAIT_FOR_DATA");
            long target =
                    direct ? fusedTensors.outputAddress(0) + first * wireType.byteSize() : results;
            kernels.reduce(
                    wireType, op, kernelScale, divisor, target, sources(half, 0), elements, stream);
            context.activities().launched("CUDA_IPC_ALLREDUCE");
            if (!direct) {
                driver.unpack(
                        fusedTensors,
                        results,
                        first,
                        elements,
                        scaledByKernel ? 1.0 : scale.postscale(),
                        context.stream());
                context.activities().launched("MEMCPY_OUT_FUSION_BUFFER");
            }
        }
    }

    /// A tensor is combined as a whole, so it must fit into a stage: larger ones take stages of their
    /// own size.
    @Override
    public void adasum(FusedTensors fusedTensors, Scale scale) {
        long largest = 0;
        for (int i = 0; i < fusedTensors.tensorCount(); i++) {
            largest = Math.max(largest, fusedTensors.start(i + 1) - fusedTensors.start(i));
        }
        long vectorBytes = aligned(largest * fusedTensors.wireType().byteSize());
        long vectors =
                scratch(
                        vectorBytes * Math.ceilDiv(size, 2)
                                + CudaKernels.adasumScratchBytes(largest));
        SharedStages adasumStages = stagesFor(vectorBytes);
        for (int i = 0; i < fusedTensors.tensorCount(); i++) {
            combine(fusedTensors, i, scale, adasumStages, vectors, vectorBytes);
        }
        context.activities().launched("CUDA_IPC_ADASUM");
    }

    private long scratch(long byteSize) {
        long before = scratches.isEmpty() ? 0 : scratches.getLast().byteSize();
        if (byteSize > before) {
            // at least twice as large, so that all smaller ones together are not larger than the
            // last
            long grown = Math.max(byteSize, 2 * before);
            scratches.add(new Scratch(device.allocate(grown), grown));
        }
        return scratches.getLast().address();
    }

    /// The stages for data of this size, which takes several rounds if it is very large.
    private SharedStages roundsFor(long byteSize) {
        return stagesFor(Math.min(byteSize, maxRoundBytes));
    }

    /// Stages for a round of this size. All ranks need new ones in the same call, as they exchange tensors
    /// of the same size.
    private SharedStages stagesFor(long byteSize) {
        SharedStages last = stages.getLast();
        if (byteSize > last.halfBytes()) {
            long doubled = 2 * last.halfBytes();
            // a larger one is for Adasum, and grows so that many of them do not stay
            long least = byteSize > maxRoundBytes ? doubled : Math.min(doubled, maxRoundBytes);
            long grown = aligned(Math.max(byteSize, least));
            last = new SharedStages(device, context, grown);
            stages.add(last);
        }
        return last;
    }

    /// The tensors of all ranks are combined as they are sent: in the wire type.
    private void combine(
            FusedTensors fusedTensors,
            int index,
            Scale scale,
            SharedStages adasumStages,
            long vectors,
            long vectorBytes) {
        DataType wireType = fusedTensors.wireType();
        long first = fusedTensors.start(index);
        long count = fusedTensors.start(index + 1) - first;
        if (count == 0) {
            return;
        }
        long scratch = vectors + vectorBytes * Math.ceilDiv(size, 2);
        SharedStages.Half half = begin(adasumStages);
        driver.pack(fusedTensors, first, count, scale.prescale(), half.own(), context.stream());
        half.publish();
        long[] current = sources(half, 0);
        int used = 0;
        for (List<AdasumTree.Pair> level : AdasumTree.of(size).levels()) {
            for (AdasumTree.Pair pair : level) {
                long left = current[pair.left()];
                boolean own = left >= vectors && left < scratch;
                long target = own ? left : vectors + vectorBytes * used++;
                kernels.adasum(
                        wireType, target, left, current[pair.right()], count, scratch, stream);
                current[pair.left()] = target;
            }
        }
        driver.unpack(fusedTensors, current[0], first, count, scale.postscale(), context.stream());
    }

    @Override
    public void reducescatter(FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor) {
        DataType dataType = fusedTensors.dataType();
        int byteSize = dataType.byteSize();
        long count = fusedTensors.elementCount();
        SharedStages rounds = roundsFor(count * byteSize);
        long perRound = rounds.halfBytes() / byteSize;
        for (long first = 0; first < count; first += perRound) {
            long end = Math.min(first + perRound, count);
            SharedStages.Half half = begin(rounds);
            driver.pack(fusedTensors, first, end - first, 1.0, half.own(), context.stream());
            context.activities().launched("MEMCPY_IN_FUSION_BUFFER");
            half.publish();
            context.activities().launched("WAIT_FOR_DATA");
            for (int i = fusedTensors.tensorAt(first);
                    i < fusedTensors.tensorCount() && fusedTensors.start(i) < end;
                    i++) {
                long outputStart = fusedTensors.start(i) + fusedTensors.outputStart(i);
                long from = Math.max(first, outputStart);
                long to = Math.min(end, fusedTensors.start(i) + fusedTensors.outputEnd(i));
                if (from < to) {
                    kernels.reduce(
                            dataType,
                            op,
                            scale,
                            divisor,
                            fusedTensors.outputAddress(i) + (from - outputStart) * byteSize,
                            sources(half, (from - first) * byteSize),
                            to - from,
                            stream);
                }
            }
            context.activities().launched("CUDA_IPC_REDUCESCATTER");
        }
    }

    @Override
    public void allgather(List<Tensor> inputs, List<Tensor> outputs, long[][] rows) {
        for (int i = 0; i < inputs.size(); i++) {
            gather(inputs.get(i), outputs.get(i), rows, i);
        }
        context.activities().launched("CUDA_IPC_ALLGATHER");
    }

    private void gather(Tensor input, Tensor output, long[][] rows, int index) {
        long rowBytes = output.shape().rowElements() * output.dataType().byteSize();
        long[] starts = new long[size + 1];
        long longest = 0;
        for (int other = 0; other < size; other++) {
            long bytes = rows[other][index] * rowBytes;
            starts[other + 1] = starts[other] + bytes;
            longest = Math.max(longest, bytes);
        }
        SharedStages rounds = roundsFor(longest);
        long halfBytes = rounds.halfBytes();
        for (long first = 0; first < longest; first += halfBytes) {
            SharedStages.Half half = begin(rounds);
            copy(
                    input.deviceAddress() + first,
                    half.own(),
                    Math.min(halfBytes, starts[rank + 1] - starts[rank] - first));
            half.publish();
            for (int other = 0; other < size; other++) {
                copy(
                        half.of(other),
                        output.deviceAddress() + starts[other] + first,
                        Math.min(halfBytes, starts[other + 1] - starts[other] - first));
            }
        }
    }

    @Override
    public void broadcast(Tensor tensor, int rootRank) {
        SharedStages rounds = roundsFor(tensor.byteSize());
        long halfBytes = rounds.halfBytes();
        for (long first = 0; first < tensor.byteSize(); first += halfBytes) {
            long byteSize = Math.min(halfBytes, tensor.byteSize() - first);
            SharedStages.Half half = begin(rounds);
            if (rank == rootRank) {
                copy(tensor.deviceAddress() + first, half.own(), byteSize);
            }
            half.publish();
            if (rank != rootRank) {
                copy(half.of(rootRank), tensor.deviceAddress() + first, byteSize);
            }
        }
        context.activities().launched("CUDA_IPC_BCAST");
    }

    @Override
    public void alltoall(Tensor input, Tensor output, long[][] rows) {
        long rowBytes = input.shape().rowElements() * input.dataType().byteSize();
        // where the rows for this rank start in each rank's input, and where they go
        long[] sourceStarts = new long[size];
        long[] targetStarts = new long[size];
        long longest = 0;
        long target = 0;
        for (int other = 0; other < size; other++) {
            long all = 0;
            for (int to = 0; to < size; to++) {
                if (to == rank) {
                    sourceStarts[other] = all;
                }
                all += rows[other][to] * rowBytes;
            }
            longest = Math.max(longest, all);
            targetStarts[other] = target;
            target += rows[other][rank] * rowBytes;
        }
        SharedStages rounds = roundsFor(longest);
        long halfBytes = rounds.halfBytes();
        for (long first = 0; first < longest; first += halfBytes) {
            SharedStages.Half half = begin(rounds);
            copy(
                    input.deviceAddress() + first,
                    half.own(),
                    Math.min(halfBytes, input.byteSize() - first));
            half.publish();
            for (int other = 0; other < size; other++) {
                long from = Math.max(first, sourceStarts[other]);
                long to =
                        Math.min(
                                first + halfBytes,
                                sourceStarts[other] + rows[other][rank] * rowBytes);
                copy(
                        half.of(other) + from - first,
                        output.deviceAddress() + targetStarts[other] + from - sourceStarts[other],
                        to - from);
            }
        }
        context.activities().launched("CUDA_IPC_ALLTOALL");
    }

    private SharedStages.Half begin(SharedStages rounds) {
        if (aborted) {
            throw new HorovodException("CUDA_IPC was aborted, as a rank is lost or has failed");
        }
        return rounds.next();
    }

    private long[] sources(SharedStages.Half half, long offset) {
        long[] sources = new long[size];
        for (int other = 0; other < size; other++) {
            sources[other] = half.of(other) + offset;
        }
        return sources;
    }

    /// Copies nothing if the count is negative: a rank may have no bytes in this round.
    private void copy(long source, long target, long byteSize) {
        if (byteSize > 0) {
            device.api().copy(target, source, byteSize, stream);
        }
    }

    private static long aligned(long byteSize) {
        return Math.ceilDiv(byteSize, 256L) * 256;
    }

    @Override
    public void check() {
        // errors of the device reach core by its events
    }

    /// Lets later launches fail, and ends the waits of what was launched for other ranks. What they
    /// have not written is not valid then.
    @Override
    public void abort() {
        aborted = true;
        stages.forEach(SharedStages::endWaits);
    }

    /// Frees memory that neither this rank nor another one uses any more.
    ///
    /// Other memory stays allocated until the process ends: of work that waits for a stream of the
    /// program that has stopped, and stages that a rank that is lost has not left. To free it could wait
    /// for the device without an end, or be seen by a rank that is only slow.
    @Override
    public void close() {
        long deadline = System.nanoTime() + CLOSE_TIMEOUT.toNanos();
        if (!isComplete(deadline)) {
            return;
        }
        stages.forEach(SharedStages::leave);
        if (!isComplete(deadline)) {
            return;
        }
        stages.forEach(each -> each.close(deadline));
        scratches.forEach(each -> device.api().free(each.address()));
    }

    /// Waits until this rank's work is complete.
    private boolean isComplete(long deadline) {
        DeviceEvent end = driver.record(context.stream());
        try {
            while (!end.isComplete()) {
                if (System.nanoTime() - deadline > 0) {
                    return false;
                }
                if (aborted) {
                    stages.forEach(SharedStages::endWaits);
                }
                LockSupport.parkNanos(POLL_WAIT.toNanos());
            }
            return true;
        } finally {
            end.release();
        }
    }
}
