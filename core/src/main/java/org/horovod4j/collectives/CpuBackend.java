package org.horovod4j.collectives;

import org.horovod4j.DataType;
import org.horovod4j.Received;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.collectives.algorithm.Reduction;
import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.spi.Activities;
import org.horovod4j.spi.Backend;
import org.horovod4j.spi.Bundle;
import org.horovod4j.spi.Tuning;
import org.horovod4j.transport.Neighbourhood;

import java.lang.foreign.Arena;
import java.util.List;

/// Collectives on host memory: inside a host through shared memory, between hosts over links.
public final class CpuBackend implements Backend {
    private final Neighbourhood near;
    private final Across across;
    private final Kernels kernels;
    private final Arena arena = Arena.ofShared();
    private final Scratch scratch;
    private final CpuAllreduce allreduce;
    private final CpuReducescatter reducescatter;
    private final CpuAdasum adasum;
    private final CpuAllgather allgather;
    private final CpuBroadcast broadcast;
    private final CpuAlltoall alltoall;
    private final CpuBarrier barrier;

    /// @param activities is told what an allreduce or reducescatter spends its time on
    public CpuBackend(Neighbourhood near, Across across, Kernels kernels, Activities activities) {
        this.near = near;
        this.across = across;
        this.kernels = kernels;
        this.scratch = new Scratch(arena);
        this.barrier = new CpuBarrier(near, across);
        this.allreduce = new CpuAllreduce(near, across, barrier, scratch, activities);
        this.reducescatter = new CpuReducescatter(near, allreduce);
        this.adasum = new CpuAdasum(near, across, kernels, scratch);
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
    public boolean isShared(Tensor tensor) {
        return near.memory().locate(tensor.segment()) != null;
    }

    @Override
    public void allreduce(long stamp, Bundle bundle, ReduceOp op, Scale scale, int divisor) {
        across.begin(stamp);
        allreduce.run(stamp, reduction(bundle, op, scale, divisor), bundle);
    }

    @Override
    public void reducescatter(long stamp, Bundle bundle, ReduceOp op, Scale scale, int divisor) {
        across.begin(stamp);
        reducescatter.run(stamp, reduction(bundle, op, scale, divisor), bundle);
    }

    @Override
    public void adasum(long stamp, Bundle bundle, Scale scale) {
        across.begin(stamp);
        adasum.run(stamp, bundle, scale);
    }

    @Override
    public List<Tensor> allgather(long stamp, List<Tensor> tensors) {
        across.begin(stamp);
        return allgather.run(stamp, tensors);
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
    public void barrier(long stamp) {
        across.begin(stamp);
        barrier.run(stamp);
    }

    @Override
    public long fusesFreely() {
        return allreduce.fusesFreely();
    }

    @Override
    public void tune(Tuning tuning) {
        allreduce.tune(tuning);
        across.tune(tuning);
    }

    @Override
    public void reset() {
        near.reset();
        allreduce.reset();
        across.reset();
    }

    @Override
    public void close() {
        across.close();
        near.memory().close();
        scratch.close();
        arena.close();
    }

    private Reduction reduction(Bundle bundle, ReduceOp op, Scale scale, int divisor) {
        return new Reduction(kernels, bundle.dataType(), op, scale, divisor);
    }
}
