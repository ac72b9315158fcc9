package org.horovod4j.nccl;

import org.horovod4j.DataType;
import org.horovod4j.HorovodException;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.spi.Backend;
import org.horovod4j.spi.DeviceBackend;
import org.horovod4j.spi.DeviceContext;
import org.horovod4j.spi.DeviceDriver;
import org.horovod4j.spi.FusedTensors;
import org.jspecify.annotations.Nullable;

import java.util.List;

/// Collectives of the GPUs of one process set, by NCCL.
///
/// | collective                          | of NCCL                                              |
/// |-------------------------------------|------------------------------------------------------|
/// | allreduce of one tensor             | `ncclAllReduce` in the tensor's own memory           |
/// | allreduce of fused tensors          | pack, `ncclAllReduce`, unpack                        |
/// | reducescatter                       | `ncclReduceScatter`; `ncclReduce` for uneven rows    |
/// | allgather                           | `ncclAllGather`; `ncclBroadcast` for uneven rows     |
/// | alltoall                            | `ncclSend` and `ncclRecv`                            |
final class NcclBackend
        implements DeviceBackend,
                Backend.SupportsAllreduce,
                Backend.SupportsReducescatter,
                Backend.SupportsAllgather,
                Backend.SupportsBroadcast,
                Backend.SupportsAlltoall {
    private final LibNccl nccl;
    private final DeviceContext context;
    private final DeviceDriver driver;
    private final long stream;
    private final int rank;
    private final int size;
    private final NcclCommunicator communicator;

    /// Memory for fused tensors, as large as the largest so far.
    private @Nullable Tensor fusionBuffer;

    NcclBackend(LibNccl nccl, DeviceContext context) {
        this.nccl = nccl;
        this.context = context;
        this.driver = context.driver();
        this.stream = context.stream().handle();
        this.rank = context.host().rank();
        this.size = context.host().size();
        byte[] mine = rank == 0 ? nccl.uniqueId() : new byte[0];
        byte[] uniqueId = context.host().allgather(mine).getFirst();
        driver.bind();
        this.communicator = new NcclCommunicator(nccl, uniqueId, rank, size, context.host()::check);
    }

    @Override
    public void allreduce(FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor) {
        driver.bind();
        Averaging averaging = new Averaging(op, scale, divisor);
        long count = fusedTensors.elementCount();
        if (fusedTensors.tensorCount() == 1
                && fusedTensors.wireType() == fusedTensors.dataType()
                && scale.prescale() == 1.0) {
            long output = fusedTensors.outputAddress(0);
            allReduce(
                    fusedTensors.inputAddress(0),
                    output,
                    count,
                    fusedTensors.dataType(),
                    averaging);
            scaleOutput(fusedTensors.dataType(), output, count, averaging);
            return;
        }
        long buffer = fusionBuffer(count * fusedTensors.wireType().byteSize());
        driver.pack(fusedTensors, 0, count, scale.prescale(), buffer, context.stream());
        context.activities().launched("MEMCPY_IN_FUSION_BUFFER");
        allReduce(buffer, buffer, count, fusedTensors.wireType(), averaging);
        driver.unpack(fusedTensors, buffer, 0, count, averaging.factor(), context.stream());
        context.activities().launched("MEMCPY_OUT_FUSION_BUFFER");
    }

    private void allReduce(
            long source, long target, long count, DataType dataType, Averaging averaging) {
        if (count > 0) {
            communicator.call(
                    "ncclAllReduce",
                    handle ->
                            nccl.allReduce.call(
                                    source,
                                    target,
                                    count,
                                    code(dataType),
                                    averaging.code(),
                                    handle,
                                    stream));
        }
        context.activities().launched("NCCL_ALLREDUCE");
    }

    @Override
    public void reducescatter(FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor) {
        driver.bind();
        Averaging averaging = new Averaging(op, scale, divisor);
        int byteSize = fusedTensors.dataType().byteSize();
        long packed = 0;
        if (scale.prescale() != 1.0) {
            packed = fusionBuffer(fusedTensors.byteSize());
            driver.pack(
                    fusedTensors,
                    0,
                    fusedTensors.elementCount(),
                    scale.prescale(),
                    packed,
                    context.stream());
            context.activities().launched("MEMCPY_IN_FUSION_BUFFER");
        }
        long sources = packed;
        communicator.group(
                "ncclReduceScatter",
                () -> {
                    for (int i = 0; i < fusedTensors.tensorCount(); i++) {
                        long source =
                                sources == 0
                                        ? fusedTensors.inputAddress(i)
                                        : sources + fusedTensors.start(i) * byteSize;
                        scatter(fusedTensors, i, source, averaging);
                    }
                });
        context.activities().launched("NCCL_REDUCESCATTER");
        for (int i = 0; i < fusedTensors.tensorCount(); i++) {
            scaleOutput(
                    fusedTensors.dataType(),
                    fusedTensors.outputAddress(i),
                    fusedTensors.outputEnd(i) - fusedTensors.outputStart(i),
                    averaging);
        }
    }

    /// Reduces one tensor, whose rows may be distributed unevenly.
    private void scatter(FusedTensors fusedTensors, int index, long source, Averaging averaging) {
        DataType dataType = fusedTensors.dataType();
        long tensorStart = fusedTensors.start(index);
        long total = fusedTensors.start(index + 1) - tensorStart;
        long share = fusedTensors.scatterStart(index, 1, size) - tensorStart;
        long output = fusedTensors.outputAddress(index);
        if (total == 0) {
            return;
        }
        if (share * size == total) {
            call(
                    "ncclReduceScatter",
                    handle ->
                            nccl.reduceScatter.call(
                                    source,
                                    output,
                                    share,
                                    code(dataType),
                                    averaging.code(),
                                    handle,
                                    stream));
            return;
        }
        for (int root = 0; root < size; root++) {
            int rootRank = root;
            long first = fusedTensors.scatterStart(index, root, size) - tensorStart;
            long count = fusedTensors.scatterStart(index, root + 1, size) - tensorStart - first;
            if (count > 0) {
                call(
                        "ncclReduce",
                        handle ->
                                nccl.reduce.call(
                                        source + first * dataType.byteSize(),
                                        output,
                                        count,
                                        code(dataType),
                                        averaging.code(),
                                        rootRank,
                                        handle,
                                        stream));
            }
        }
    }

    @Override
    public void allgather(List<Tensor> inputs, List<Tensor> outputs, long[][] rows) {
        driver.bind();
        communicator.group(
                "ncclAllGather",
                () -> {
                    for (int i = 0; i < inputs.size(); i++) {
                        gather(inputs.get(i), outputs.get(i), rows, i);
                    }
                });
        context.activities().launched("NCCL_ALLGATHER");
    }

    private void gather(Tensor input, Tensor output, long[][] rows, int index) {
        long total = 0;
        boolean even = true;
        for (long[] ofRank : rows) {
            total += ofRank[index];
            even &= ofRank[index] == rows[0][index];
        }
        if (total == 0) {
            return;
        }
        long rowBytes = output.byteSize() / total;
        if (rowBytes == 0) {
            return;
        }
        if (even) {
            call(
                    "ncclAllGather",
                    handle ->
                            nccl.allGather.call(
                                    input.deviceAddress(),
                                    output.deviceAddress(),
                                    input.byteSize(),
                                    LibNccl.INT8,
                                    handle,
                                    stream));
            return;
        }
        long at = output.deviceAddress();
        for (int root = 0; root < size; root++) {
            int rootRank = root;
            long target = at;
            long byteSize = rows[root][index] * rowBytes;
            long source = root == rank ? input.deviceAddress() : target;
            if (byteSize > 0) {
                call(
                        "ncclBroadcast",
                        handle ->
                                nccl.broadcast.call(
                                        source,
                                        target,
                                        byteSize,
                                        LibNccl.INT8,
                                        rootRank,
                                        handle,
                                        stream));
            }
            at += byteSize;
        }
    }

    @Override
    public void broadcast(Tensor tensor, int rootRank) {
        driver.bind();
        if (tensor.byteSize() > 0) {
            communicator.call(
                    "ncclBroadcast",
                    handle ->
                            nccl.broadcast.call(
                                    tensor.deviceAddress(),
                                    tensor.deviceAddress(),
                                    tensor.byteSize(),
                                    LibNccl.INT8,
                                    rootRank,
                                    handle,
                                    stream));
        }
        context.activities().launched("NCCL_BCAST");
    }

    @Override
    public void alltoall(Tensor input, Tensor output, long[][] rows) {
        driver.bind();
        long rowBytes = input.shape().rowElements() * input.dataType().byteSize();
        communicator.group(
                "ncclSend",
                () -> {
                    long from = input.deviceAddress();
                    long to = output.deviceAddress();
                    for (int peer = 0; peer < size; peer++) {
                        from += send(from, rows[rank][peer] * rowBytes, peer);
                        to += receive(to, rows[peer][rank] * rowBytes, peer);
                    }
                });
        context.activities().launched("NCCL_ALLTOALL");
    }

    private long send(long address, long byteSize, int peer) {
        if (byteSize > 0) {
            call(
                    "ncclSend",
                    handle ->
                            nccl.send.call(address, byteSize, LibNccl.INT8, peer, handle, stream));
        }
        return byteSize;
    }

    private long receive(long address, long byteSize, int peer) {
        if (byteSize > 0) {
            call(
                    "ncclRecv",
                    handle ->
                            nccl.receive.call(
                                    address, byteSize, LibNccl.INT8, peer, handle, stream));
        }
        return byteSize;
    }

    /// A call inside a group, which does not wait.
    private void call(String function, NcclCommunicator.Call call) {
        communicator.callInGroup(function, call);
    }

    private void scaleOutput(DataType dataType, long address, long count, Averaging averaging) {
        if (averaging.factor() != 1.0 && count > 0) {
            driver.scale(dataType, address, count, averaging.factor(), context.stream());
        }
    }

    private long fusionBuffer(long byteSize) {
        Tensor buffer = fusionBuffer;
        if (buffer == null || buffer.byteSize() < byteSize) {
            buffer = driver.allocate(DataType.UINT8, Shape.of(byteSize));
            fusionBuffer = buffer;
        }
        return buffer.deviceAddress();
    }

    /// The op that NCCL computes, and what is left to multiply the result with.
    private final class Averaging {
        private final int code;
        private final double factor;

        Averaging(ReduceOp op, Scale scale, int divisor) {
            // NCCL divides by the number of ranks; a join makes the divisor smaller
            boolean byNccl = op == ReduceOp.AVERAGE && divisor == size;
            this.code = byNccl ? LibNccl.AVERAGE : codeOf(op);
            this.factor =
                    op == ReduceOp.AVERAGE && !byNccl
                            ? scale.postscale() / divisor
                            : scale.postscale();
        }

        int code() {
            return code;
        }

        double factor() {
            return factor;
        }
    }

    private static int codeOf(ReduceOp op) {
        return switch (op) {
            case SUM, AVERAGE -> LibNccl.SUM;
            case MIN -> LibNccl.MIN;
            case MAX -> LibNccl.MAX;
            case PRODUCT -> LibNccl.PRODUCT;
            case ADASUM -> throw new HorovodException("NCCL has no Adasum");
        };
    }

    private static int code(DataType dataType) {
        return switch (dataType) {
            case UINT8 -> LibNccl.UINT8;
            case INT8 -> LibNccl.INT8;
            case INT32 -> LibNccl.INT32;
            case INT64 -> LibNccl.INT64;
            case FLOAT16 -> LibNccl.FLOAT16;
            case BFLOAT16 -> LibNccl.BFLOAT16;
            case FLOAT32 -> LibNccl.FLOAT32;
            case FLOAT64 -> LibNccl.FLOAT64;
            case UINT16, INT16, BOOL ->
                    throw new HorovodException("NCCL does not reduce %s".formatted(dataType));
        };
    }

    @Override
    public void check() {
        communicator.check();
    }

    @Override
    public void abort() {
        driver.bind();
        communicator.abort();
    }

    @Override
    public void close() {
        driver.bind();
        communicator.close();
        fusionBuffer = null;
    }
}
