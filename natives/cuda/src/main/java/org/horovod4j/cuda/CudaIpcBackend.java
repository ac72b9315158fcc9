package org.horovod4j.cuda;

import org.horovod4j.DataType;
import org.horovod4j.DeviceStream;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Tensor;
import org.horovod4j.collectives.algorithm.AdasumTree;
import org.horovod4j.spi.Backend;
import org.horovod4j.spi.DeviceBackend;
import org.horovod4j.spi.DeviceContext;
import org.horovod4j.spi.DeviceDriver;
import org.horovod4j.spi.FusedTensors;

import java.time.Duration;
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
        implements DeviceBackend,
                Backend.SupportsAllreduce,
                Backend.SupportsAdasum,
                Backend.SupportsReducescatter,
                Backend.SupportsAllgather,
                Backend.SupportsBroadcast,
                Backend.SupportsAlltoall {
    private final CudaDevice device;
    private final DeviceContext context;
    private final DeviceDriver driver;
    private final CudaKernels kernels;
    private final DeviceStream writeStream;
    private final DeviceStream readStream;
    private final int rank;
    private final int size;
    private final IpcMemory memory;

    /// @param firstRoundBytes what ranks can exchange at a time, until a larger tensor comes
    /// @param maxRoundBytes what ranks can exchange at a time then; more only for Adasum
    /// @param abortTimeout how long others may take to notice that a rank is lost, after this one has
    /// @param closeTimeout how long [#close] waits for the work of the device
    CudaIpcBackend(
            CudaDevice device,
            DeviceContext context,
            long firstRoundBytes,
            long maxRoundBytes,
            Duration abortTimeout,
            Duration closeTimeout) {
        this.device = device;
        this.context = context;
        this.driver = context.driver();
        this.kernels = device.kernels();
        this.writeStream = context.stream();
        this.readStream = driver.openStream(true);
        this.rank = context.host().rank();
        this.size = context.host().size();
        try {
            this.memory =
                    new IpcMemory(
                            device,
                            context,
                            readStream,
                            firstRoundBytes,
                            maxRoundBytes,
                            abortTimeout,
                            closeTimeout);
        } catch (RuntimeException | Error e) {
            driver.closeStream(readStream);
            throw e;
        }
    }

    @Override
    public void allreduce(FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor) {
        DataType wireType = fusedTensors.wireType();
        boolean direct = fusedTensors.tensorCount() == 1 && wireType == fusedTensors.dataType();
        // a compressed tensor is scaled in its own type, before and after it is sent
        boolean scaledByKernel = wireType == fusedTensors.dataType();
        Scale kernelScale = scaledByKernel ? scale : Scale.NONE;
        long count = fusedTensors.elementCount();
        SharedStages shared = memory.roundsFor(count * wireType.byteSize());
        long perRound = shared.slotBytes() / wireType.byteSize();
        long results = direct ? 0 : memory.scratch(Math.min(perRound, count) * wireType.byteSize());
        for (long first = 0; first < count; first += perRound) {
            long elements = Math.min(perRound, count - first);
            SharedStages.Round round = memory.begin(shared);
            driver.pack(
                    fusedTensors,
                    first,
                    elements,
                    scaledByKernel ? 1.0 : scale.prescale(),
                    round.own(),
                    writeStream);
            context.activities().launched("MEMCPY_IN_FUSION_BUFFER");
            round.publish();
            context.activities().launched("WAIT_FOR_DATA");
            long target =
                    direct ? fusedTensors.outputAddress(0) + first * wireType.byteSize() : results;
            kernels.reduce(
                    wireType,
                    op,
                    kernelScale,
                    divisor,
                    target,
                    sources(round, 0),
                    elements,
                    readStream.handle());
            context.activities().launched("CUDA_IPC_ALLREDUCE");
            if (!direct) {
                driver.unpack(
                        fusedTensors,
                        results,
                        first,
                        elements,
                        scaledByKernel ? 1.0 : scale.postscale(),
                        readStream);
                context.activities().launched("MEMCPY_OUT_FUSION_BUFFER");
            }
            round.end();
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
        long vectorBytes = IpcMemory.aligned(largest * fusedTensors.wireType().byteSize());
        long vectors =
                memory.scratch(
                        vectorBytes * Math.ceilDiv(size, 2)
                                + CudaKernels.adasumScratchBytes(largest));
        SharedStages adasumStages = memory.wholeRoundsFor(vectorBytes);
        for (int i = 0; i < fusedTensors.tensorCount(); i++) {
            combine(fusedTensors, i, scale, adasumStages, vectors, vectorBytes);
        }
        context.activities().launched("CUDA_IPC_ADASUM");
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
        SharedStages.Round round = memory.begin(adasumStages);
        driver.pack(fusedTensors, first, count, scale.prescale(), round.own(), writeStream);
        round.publish();
        long[] current = sources(round, 0);
        int used = 0;
        for (List<AdasumTree.Pair> level : AdasumTree.of(size).levels()) {
            for (AdasumTree.Pair pair : level) {
                long left = current[pair.left()];
                boolean own = left >= vectors && left < scratch;
                long target = own ? left : vectors + vectorBytes * used++;
                kernels.adasum(
                        wireType,
                        target,
                        left,
                        current[pair.right()],
                        count,
                        scratch,
                        readStream.handle());
                current[pair.left()] = target;
            }
        }
        driver.unpack(fusedTensors, current[0], first, count, scale.postscale(), readStream);
        round.end();
    }

    @Override
    public void reducescatter(FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor) {
        DataType dataType = fusedTensors.dataType();
        int byteSize = dataType.byteSize();
        long count = fusedTensors.elementCount();
        SharedStages shared = memory.roundsFor(count * byteSize);
        long perRound = shared.slotBytes() / byteSize;
        for (long first = 0; first < count; first += perRound) {
            long end = Math.min(first + perRound, count);
            SharedStages.Round round = memory.begin(shared);
            driver.pack(fusedTensors, first, end - first, 1.0, round.own(), writeStream);
            context.activities().launched("MEMCPY_IN_FUSION_BUFFER");
            round.publish();
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
                            sources(round, (from - first) * byteSize),
                            to - from,
                            readStream.handle());
                }
            }
            round.end();
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
        SharedStages shared = memory.roundsFor(longest);
        long roundBytes = shared.slotBytes();
        for (long first = 0; first < longest; first += roundBytes) {
            SharedStages.Round round = memory.begin(shared);
            copy(
                    input.deviceAddress() + first,
                    round.own(),
                    Math.min(roundBytes, starts[rank + 1] - starts[rank] - first),
                    writeStream);
            round.publish();
            for (int other = 0; other < size; other++) {
                copy(
                        round.of(other),
                        output.deviceAddress() + starts[other] + first,
                        Math.min(roundBytes, starts[other + 1] - starts[other] - first),
                        readStream);
            }
            round.end();
        }
    }

    @Override
    public void broadcast(Tensor tensor, int rootRank) {
        SharedStages shared = memory.roundsFor(tensor.byteSize());
        long roundBytes = shared.slotBytes();
        for (long first = 0; first < tensor.byteSize(); first += roundBytes) {
            long byteSize = Math.min(roundBytes, tensor.byteSize() - first);
            SharedStages.Round round = memory.begin(shared);
            if (rank == rootRank) {
                copy(tensor.deviceAddress() + first, round.own(), byteSize, writeStream);
            }
            round.publish();
            if (rank != rootRank) {
                copy(round.of(rootRank), tensor.deviceAddress() + first, byteSize, readStream);
            }
            round.end();
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
        SharedStages shared = memory.roundsFor(longest);
        long roundBytes = shared.slotBytes();
        for (long first = 0; first < longest; first += roundBytes) {
            SharedStages.Round round = memory.begin(shared);
            copy(
                    input.deviceAddress() + first,
                    round.own(),
                    Math.min(roundBytes, input.byteSize() - first),
                    writeStream);
            round.publish();
            for (int other = 0; other < size; other++) {
                long from = Math.max(first, sourceStarts[other]);
                long to =
                        Math.min(
                                first + roundBytes,
                                sourceStarts[other] + rows[other][rank] * rowBytes);
                copy(
                        round.of(other) + from - first,
                        output.deviceAddress() + targetStarts[other] + from - sourceStarts[other],
                        to - from,
                        readStream);
            }
            round.end();
        }
        context.activities().launched("CUDA_IPC_ALLTOALL");
    }

    private long[] sources(SharedStages.Round round, long offset) {
        long[] sources = new long[size];
        for (int other = 0; other < size; other++) {
            sources[other] = round.of(other) + offset;
        }
        return sources;
    }

    /// Copies nothing if the count is negative: a rank may have no bytes in this round.
    private void copy(long source, long target, long byteSize, DeviceStream stream) {
        if (byteSize > 0) {
            device.api().copy(target, source, byteSize, stream.handle());
        }
    }

    @Override
    public void check() {
        // errors of the device reach core by its events
    }

    /// A collective ends when what others have written is read.
    @Override
    public DeviceStream resultStream(DeviceStream stream) {
        return readStream;
    }

    @Override
    public void abort() {
        memory.abort();
    }

    @Override
    public void close() {
        try {
            memory.close();
        } finally {
            driver.closeStream(readStream);
        }
    }
}
