package org.horovod4j.runtime.backend;

import org.horovod4j.AlltoallResult;
import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.spi.CancellableBackend;
import org.horovod4j.spi.DeviceEvent;
import org.horovod4j.spi.DeviceWait;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.spi.HostCollectives;

import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/// The collectives of main memory for a meeting and inside a launch: those of the CPU backend, each with
/// a stamp of its own that follows from that of the batch.
public final class LaunchHostCollectives implements HostCollectives {
    /// Odd, so that stamps of one batch differ; and another number than that of batches.
    private static final long STAMP_STEP = 0xbf58476d1ce4e5b9L;

    private final CancellableBackend backend;
    private final int rank;
    private final int size;
    private final Runnable liveness;
    private long stamp;

    /// @param liveness throws if a rank is lost
    public LaunchHostCollectives(
            CancellableBackend backend, int rank, int size, Runnable liveness) {
        this.backend = backend;
        this.rank = rank;
        this.size = size;
        this.liveness = liveness;
    }

    /// Begins a batch.
    public void begin(long batchStamp) {
        stamp = batchStamp;
    }

    private long nextStamp() {
        long current = stamp;
        stamp += STAMP_STEP;
        return current;
    }

    @Override
    public int rank() {
        return rank;
    }

    @Override
    public int size() {
        return size;
    }

    @Override
    public Tensor allocate(DataType dataType, Shape shape) {
        return backend.allocate(dataType, shape);
    }

    @Override
    public void check() {
        liveness.run();
    }

    @Override
    public void await(DeviceEvent event) {
        DeviceWait.await(event, liveness);
    }

    @Override
    public void barrier() {
        backend.barrier(nextStamp());
    }

    /// Numbers of all ranks. Each rank has the same count of them.
    ///
    /// @return `numbers[rank][i]`
    public long[][] allgather(long[] mine) {
        Tensor gathered = allgather(List.of(Tensor.of(mine))).getFirst();
        long[][] all = new long[size][mine.length];
        for (int r = 0; r < size; r++) {
            for (int i = 0; i < mine.length; i++) {
                all[r][i] =
                        gathered.segment()
                                .getAtIndex(
                                        ValueLayout.JAVA_LONG_UNALIGNED,
                                        (long) r * mine.length + i);
            }
        }
        return all;
    }

    @Override
    public List<byte[]> allgather(byte[] mine) {
        long[][] lengths = allgather(new long[] {mine.length});
        Tensor bytes = allgather(List.of(Tensor.of(mine))).getFirst();
        List<byte[]> all = new ArrayList<>(size);
        long start = 0;
        for (long[] length : lengths) {
            all.add(bytes.segment().asSlice(start, length[0]).toArray(ValueLayout.JAVA_BYTE));
            start += length[0];
        }
        return all;
    }

    @Override
    public void allreduce(FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor) {
        backend.allreduce(nextStamp(), fusedTensors, op, scale, divisor);
    }

    @Override
    public void crossAllreduce(FusedTensors fusedTensors, ReduceOp op) {
        backend.crossAllreduce(nextStamp(), fusedTensors, op);
    }

    @Override
    public void reducescatter(FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor) {
        backend.reducescatter(nextStamp(), fusedTensors, op, scale, divisor);
    }

    @Override
    public void adasum(FusedTensors fusedTensors, Scale scale) {
        backend.adasum(nextStamp(), fusedTensors, scale);
    }

    @Override
    public List<Tensor> allgather(List<Tensor> tensors) {
        return backend.allgather(nextStamp(), tensors);
    }

    @Override
    public void broadcast(Tensor tensor, int rootRank) {
        backend.broadcast(nextStamp(), tensor, rootRank);
    }

    @Override
    public AlltoallResult alltoall(Tensor tensor, int[] splits) {
        return backend.alltoall(nextStamp(), tensor, splits);
    }
}
