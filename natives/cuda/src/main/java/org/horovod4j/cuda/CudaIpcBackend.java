package org.horovod4j.cuda;

import org.horovod4j.DataType;
import org.horovod4j.HorovodException;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Tensor;
import org.horovod4j.collectives.algorithm.AdasumTree;
import org.horovod4j.spi.DeviceBackend;
import org.horovod4j.spi.DeviceContext;
import org.horovod4j.spi.DeviceDriver;
import org.horovod4j.spi.FusedTensors;

import java.nio.ByteBuffer;
import java.util.List;

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
        implements DeviceBackend.SupportsAllreduce,
                DeviceBackend.SupportsAdasum,
                DeviceBackend.SupportsReducescatter,
                DeviceBackend.SupportsAllgather,
                DeviceBackend.SupportsBroadcast,
                DeviceBackend.SupportsAlltoall {
    private final CudaDevice device;
    private final DeviceContext context;
    private final DeviceDriver driver;
    private final CudaKernels kernels;
    private final long stream;
    private final int rank;
    private final int size;
    private final SharedStages stages;

    /// The data of one round. A stage has two halves of this size, and the results take as much.
    private final long halfBytes;

    /// What this rank has reduced, before it is unpacked.
    private final long results;

    private volatile boolean aborted;

    CudaIpcBackend(CudaDevice device, DeviceContext context, long halfBytes) {
        this.device = device;
        this.context = context;
        this.driver = context.driver();
        this.kernels = device.kernels();
        this.stream = context.stream().handle();
        this.rank = context.host().rank();
        this.size = context.host().size();
        this.halfBytes = halfBytes;
        this.stages = new SharedStages(device, context, halfBytes);
        this.results = device.api().allocate(halfBytes);
    }

    @Override
    public void allreduce(FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor) {
        DataType wireType = fusedTensors.wireType();
        boolean direct = fusedTensors.tensorCount() == 1 && wireType == fusedTensors.dataType();
        // a compressed tensor is scaled in its own type, before and after it is sent
        boolean scaledByKernel = wireType == fusedTensors.dataType();
        Scale kernelScale = scaledByKernel ? scale : Scale.NONE;
        long perRound = halfBytes / wireType.byteSize();
        long count = fusedTensors.elementCount();
        for (long first = 0; first < count; first += perRound) {
            long elements = Math.min(perRound, count - first);
            SharedStages.Half half = begin();
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

    /// A tensor is combined as a whole, so it must fit into a stage: larger ones take a stage of their
    /// own size for this call.
    @Override
    public void adasum(FusedTensors fusedTensors, Scale scale) {
        DataType dataType = fusedTensors.dataType();
        long largest = 0;
        for (int i = 0; i < fusedTensors.tensorCount(); i++) {
            largest = Math.max(largest, fusedTensors.start(i + 1) - fusedTensors.start(i));
        }
        long vectorBytes = aligned(largest * dataType.byteSize());
        long scratchBytes = CudaKernels.adasumScratchBytes(largest);
        long vectors = device.api().allocate(vectorBytes * Math.ceilDiv(size, 2) + scratchBytes);
        SharedStages adasumStages =
                vectorBytes <= halfBytes ? stages : new SharedStages(device, context, vectorBytes);
        try {
            for (int i = 0; i < fusedTensors.tensorCount(); i++) {
                combine(fusedTensors, i, scale, adasumStages, vectors, vectorBytes);
            }
            // the memory is freed here
            device.api().synchronizeStream(stream);
        } finally {
            device.api().free(vectors);
            if (adasumStages != stages) {
                context.host().barrier();
                adasumStages.close();
            }
        }
        context.activities().launched("CUDA_IPC_ADASUM");
    }

    private void combine(
            FusedTensors fusedTensors,
            int index,
            Scale scale,
            SharedStages adasumStages,
            long vectors,
            long vectorBytes) {
        DataType dataType = fusedTensors.dataType();
        long first = fusedTensors.start(index);
        long count = fusedTensors.start(index + 1) - first;
        if (count == 0) {
            return;
        }
        long scratch = vectors + vectorBytes * Math.ceilDiv(size, 2);
        checkNotAborted();
        SharedStages.Half half = adasumStages.next();
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
                        dataType, target, left, current[pair.right()], count, scratch, stream);
                current[pair.left()] = target;
            }
        }
        driver.unpack(fusedTensors, current[0], first, count, scale.postscale(), context.stream());
    }

    @Override
    public void reducescatter(FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor) {
        DataType dataType = fusedTensors.dataType();
        int byteSize = dataType.byteSize();
        long perRound = halfBytes / byteSize;
        long count = fusedTensors.elementCount();
        for (long first = 0; first < count; first += perRound) {
            long end = Math.min(first + perRound, count);
            SharedStages.Half half = begin();
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
        for (long first = 0; first < longest; first += halfBytes) {
            SharedStages.Half half = begin();
            copy(
                    input.deviceAddress() + first,
                    half.own(),
                    round(first, starts[rank + 1] - starts[rank]));
            half.publish();
            for (int other = 0; other < size; other++) {
                copy(
                        half.of(other),
                        output.deviceAddress() + starts[other] + first,
                        round(first, starts[other + 1] - starts[other]));
            }
        }
    }

    @Override
    public void broadcast(Tensor tensor, int rootRank) {
        for (long first = 0; first < tensor.byteSize(); first += halfBytes) {
            long byteSize = round(first, tensor.byteSize());
            SharedStages.Half half = begin();
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
    public void alltoall(Tensor input, int[] splits, Tensor output, int[] receivedSplits) {
        long rowBytes = input.shape().rowElements() * input.dataType().byteSize();
        int[][] allSplits = exchange(splits);
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
                all += allSplits[other][to] * rowBytes;
            }
            longest = Math.max(longest, all);
            targetStarts[other] = target;
            target += receivedSplits[other] * rowBytes;
        }
        for (long first = 0; first < longest; first += halfBytes) {
            SharedStages.Half half = begin();
            copy(input.deviceAddress() + first, half.own(), round(first, input.byteSize()));
            half.publish();
            for (int other = 0; other < size; other++) {
                long from = Math.max(first, sourceStarts[other]);
                long to =
                        Math.min(
                                first + halfBytes,
                                sourceStarts[other] + receivedSplits[other] * rowBytes);
                copy(
                        half.of(other) + from - first,
                        output.deviceAddress() + targetStarts[other] + from - sourceStarts[other],
                        to - from);
            }
        }
        context.activities().launched("CUDA_IPC_ALLTOALL");
    }

    /// The splits of all ranks.
    private int[][] exchange(int[] splits) {
        ByteBuffer mine = ByteBuffer.allocate(size * Integer.BYTES);
        mine.asIntBuffer().put(splits);
        List<byte[]> all = context.host().allgather(mine.array());
        int[][] allSplits = new int[size][size];
        for (int other = 0; other < size; other++) {
            ByteBuffer.wrap(all.get(other)).asIntBuffer().get(allSplits[other]);
        }
        return allSplits;
    }

    private SharedStages.Half begin() {
        checkNotAborted();
        return stages.next();
    }

    private void checkNotAborted() {
        if (aborted) {
            throw new HorovodException("CUDA_IPC was aborted, as a rank is lost or has failed");
        }
    }

    private long[] sources(SharedStages.Half half, long offset) {
        long[] sources = new long[size];
        for (int other = 0; other < size; other++) {
            sources[other] = half.of(other) + offset;
        }
        return sources;
    }

    private void copy(long source, long target, long byteSize) {
        if (byteSize > 0) {
            device.api().copy(target, source, byteSize, stream);
        }
    }

    /// The bytes of a round that starts at `first`; negative if there are none left.
    private long round(long first, long byteSize) {
        return Math.min(halfBytes, byteSize - first);
    }

    private static long aligned(long byteSize) {
        return Math.ceilDiv(byteSize, 256L) * 256;
    }

    @Override
    public void check() {
        // errors of the device reach core by its events
    }

    /// Nothing on the device waits for a lost rank: what a rank waits for has been launched, and the
    /// barrier on the host ends by itself.
    @Override
    public void abort() {
        aborted = true;
    }

    @Override
    public void close() {
        stages.close();
        device.api().free(results);
    }
}
