package org.horovod4j.collectives;

import org.horovod4j.AlltoallResult;
import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.collectives.algorithm.HelperThreads;
import org.horovod4j.collectives.algorithm.OwnPartAllreduce;
import org.horovod4j.collectives.algorithm.ScaledReduction;
import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.natives.StreamingStores;
import org.horovod4j.option.StreamingStoresChoice;
import org.horovod4j.spi.ActivityRecorder;
import org.horovod4j.spi.CancellableBackend;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.spi.Tuning;
import org.horovod4j.transport.LocalGroup;

import java.lang.foreign.Arena;
import java.util.List;

/// Collectives on tensors in main memory: through shared memory within a host, over links between
/// hosts.
public final class CpuBackend implements CancellableBackend {
    private final LocalGroup local;
    private final CrossGroup cross;
    private final Kernels kernels;
    private final Arena arena = Arena.ofShared();
    private final ScratchMemory scratchMemory;
    private final HelperThreads helpers;
    private final CpuAllreduce allreduce;

    private final CpuAdasum adasum;
    private final CpuAllgather allgather;
    private final CpuBroadcast broadcast;
    private final CpuAlltoall alltoall;
    private final CpuBarrier barrier;

    /// @param activityRecorder records the phases of an allreduce or reducescatter
    /// @param helpers help with large ones; closed with the backend
    /// @param streamingStores whether the ranks of a host bypass the caches when they
    ///     write for each other
    public CpuBackend(
            LocalGroup local,
            CrossGroup crossGroup,
            Kernels kernels,
            ActivityRecorder activityRecorder,
            HelperThreads helpers,
            StreamingStoresChoice streamingStores) {
        this.local = local;
        this.helpers = helpers;
        this.cross = crossGroup;
        this.kernels = kernels;
        this.scratchMemory = new ScratchMemory(arena);
        this.barrier = new CpuBarrier(local, crossGroup);
        this.allreduce =
                new CpuAllreduce(
                        local,
                        crossGroup,
                        barrier,
                        scratchMemory,
                        activityRecorder,
                        helpers,
                        new OwnPartAllreduce(local, arena, activityRecorder),
                        new StreamingTrials(streamingStores, StreamingStores::isAvailable));
        this.adasum = new CpuAdasum(local, crossGroup, kernels, scratchMemory);
        this.allgather = new CpuAllgather(local, crossGroup);
        this.broadcast = new CpuBroadcast(local, crossGroup);
        this.alltoall = new CpuAlltoall(local, crossGroup);
    }

    /// The algorithms of an allreduce by size, for the log.
    public String describeAllreduce() {
        return allreduce.describe();
    }

    @Override
    public Tensor allocate(DataType dataType, Shape shape) {
        long byteSize = Math.multiplyExact(shape.elementCount(), (long) dataType.byteSize());
        return Tensor.of(local.memory().allocate(byteSize), dataType, shape);
    }

    @Override
    public boolean isShared(Tensor tensor) {
        return local.memory().locate(tensor.segment()) != null;
    }

    @Override
    public void allreduce(
            long stamp, FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor) {
        cross.begin(stamp);
        if (WideAverage.appliesTo(fusedTensors.dataType(), op)) {
            WideAverage.run(
                    fusedTensors,
                    scratchMemory,
                    wide -> allreduce.run(stamp, reduction(wide, op, scale, divisor), wide));
        } else {
            allreduce.run(stamp, reduction(fusedTensors, op, scale, divisor), fusedTensors);
        }
    }

    @Override
    public void crossAllreduce(long stamp, FusedTensors fusedTensors, ReduceOp op) {
        cross.begin(stamp);
        allreduce.runOverLinks(reduction(fusedTensors, op, Scale.NONE, 1), fusedTensors);
    }

    @Override
    public void reducescatter(
            long stamp, FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor) {
        cross.begin(stamp);
        if (WideAverage.appliesTo(fusedTensors.dataType(), op)) {
            WideAverage.run(
                    fusedTensors,
                    scratchMemory,
                    wide ->
                            allreduce.reducescatter(
                                    stamp, reduction(wide, op, scale, divisor), wide));
        } else {
            allreduce.reducescatter(
                    stamp, reduction(fusedTensors, op, scale, divisor), fusedTensors);
        }
    }

    @Override
    public void adasum(long stamp, FusedTensors fusedTensors, Scale scale) {
        cross.begin(stamp);
        adasum.run(stamp, fusedTensors, scale);
    }

    @Override
    public List<Tensor> allgather(long stamp, List<Tensor> tensors) {
        cross.begin(stamp);
        return allgather.run(stamp, tensors);
    }

    @Override
    public void broadcast(long stamp, Tensor tensor, int rootRank) {
        cross.begin(stamp);
        broadcast.run(stamp, tensor.segment(), rootRank);
    }

    @Override
    public AlltoallResult alltoall(long stamp, Tensor tensor, int[] splits) {
        cross.begin(stamp);
        return alltoall.run(stamp, tensor, splits);
    }

    @Override
    public void barrier(long stamp) {
        cross.begin(stamp);
        barrier.run(stamp);
    }

    @Override
    public long reproducibleFusionBytes() {
        return allreduce.reproducibleFusionBytes();
    }

    @Override
    public void tune(Tuning tuning) {
        allreduce.tune(tuning);
        cross.tune(tuning);
    }

    @Override
    public void reset() {
        local.reset();
        allreduce.reset();
        cross.reset();
    }

    @Override
    public void close() {
        helpers.close();
        cross.close();
        local.memory().close();
        scratchMemory.close();
        arena.close();
    }

    private ScaledReduction reduction(
            FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor) {
        return new ScaledReduction(kernels, fusedTensors.dataType(), op, scale, divisor);
    }
}
