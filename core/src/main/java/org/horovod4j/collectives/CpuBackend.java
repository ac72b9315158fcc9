package org.horovod4j.collectives;

import org.horovod4j.DataType;
import org.horovod4j.Received;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.collectives.algorithm.Reduction;
import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.spi.Backend;
import org.horovod4j.transport.Neighbourhood;

import java.lang.foreign.Arena;

/// Collectives on host memory: inside a host through shared memory, between hosts over links.
public final class CpuBackend implements Backend {
    private final Neighbourhood near;
    private final Across across;
    private final Kernels kernels;
    private final Arena arena = Arena.ofShared();
    private final Scratch scratch;
    private final CpuAllreduce allreduce;
    private final CpuReducescatter reducescatter;
    private final CpuAllgather allgather;
    private final CpuBroadcast broadcast;
    private final CpuAlltoall alltoall;
    private final CpuBarrier barrier;

    public CpuBackend(Neighbourhood near, Across across, Kernels kernels) {
        this.near = near;
        this.across = across;
        this.kernels = kernels;
        this.scratch = new Scratch(arena);
        this.barrier = new CpuBarrier(near, across);
        this.allreduce = new CpuAllreduce(near, across, barrier, scratch);
        this.reducescatter = new CpuReducescatter(near, across, allreduce);
        this.allgather = new CpuAllgather(near, across);
        this.broadcast = new CpuBroadcast(near, across);
        this.alltoall = new CpuAlltoall(near, across);
    }

    @Override
    public Tensor allocate(DataType dataType, Shape shape) {
        long byteSize = Math.multiplyExact(shape.elementCount(), (long) dataType.byteSize());
        return Tensor.of(near.memory().allocate(byteSize), dataType, shape);
    }

    @Override
    public void allreduce(long stamp, Tensor input, Tensor output, ReduceOp op, Scale scale) {
        across.begin(stamp);
        allreduce.run(stamp, reduction(input, op, scale), input.segment(), output.segment());
    }

    @Override
    public Tensor allgather(long stamp, Tensor tensor) {
        across.begin(stamp);
        return allgather.run(stamp, tensor);
    }

    @Override
    public void broadcast(long stamp, Tensor tensor, int rootRank) {
        across.begin(stamp);
        broadcast.run(stamp, tensor.segment(), rootRank);
    }

    @Override
    public Received alltoall(long stamp, Tensor tensor, int[] splits) {
        across.begin(stamp);
        return alltoall.run(stamp, tensor, splits);
    }

    @Override
    public Tensor reducescatter(long stamp, Tensor tensor, ReduceOp op, Scale scale) {
        across.begin(stamp);
        return reducescatter.run(stamp, reduction(tensor, op, scale), tensor);
    }

    @Override
    public void barrier(long stamp) {
        across.begin(stamp);
        barrier.run(stamp);
    }

    @Override
    public void reset() {
        near.reset();
        across.reset();
    }

    @Override
    public void close() {
        across.close();
        near.memory().close();
        scratch.close();
        arena.close();
    }

    private Reduction reduction(Tensor tensor, ReduceOp op, Scale scale) {
        return new Reduction(kernels, tensor.dataType(), op, scale, across.worldSize());
    }
}
