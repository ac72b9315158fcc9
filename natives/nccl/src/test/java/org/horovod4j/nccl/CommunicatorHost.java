package org.horovod4j.nccl;

import org.horovod4j.AlltoallResult;
import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.spi.DeviceEvent;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.spi.HostCollectives;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/// What a backend exchanges on the host, by collectives of a real job.
record CommunicatorHost(Communicator communicator) implements HostCollectives {
    @Override
    public int rank() {
        return communicator.rank();
    }

    @Override
    public int size() {
        return communicator.size();
    }

    @Override
    public Tensor allocate(DataType dataType, Shape shape) {
        return communicator.allocate(dataType, shape);
    }

    @Override
    public void check() {
        // the launcher ends a job that loses a rank
    }

    @Override
    public void await(DeviceEvent event) {
        while (!event.isComplete()) {
            Thread.onSpinWait();
        }
        event.release();
    }

    @Override
    public void barrier() {
        communicator.barrier();
    }

    @Override
    public List<byte[]> allgather(byte[] mine) {
        int[] sizes = communicator.allgather("sizes", new int[] {mine.length});
        byte[] all = communicator.allgather("bytes", mine);
        List<byte[]> parts = new ArrayList<>();
        int start = 0;
        for (int size : sizes) {
            parts.add(Arrays.copyOfRange(all, start, start + size));
            start += size;
        }
        return parts;
    }

    @Override
    public void allreduce(FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor) {
        throw unused();
    }

    @Override
    public void crossAllreduce(FusedTensors fusedTensors, ReduceOp op) {
        throw unused();
    }

    @Override
    public void reducescatter(FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor) {
        throw unused();
    }

    @Override
    public void adasum(FusedTensors fusedTensors, Scale scale) {
        throw unused();
    }

    @Override
    public List<Tensor> allgather(List<Tensor> tensors) {
        throw unused();
    }

    @Override
    public void broadcast(Tensor tensor, int rootRank) {
        throw unused();
    }

    @Override
    public AlltoallResult alltoall(Tensor tensor, int[] splits) {
        throw unused();
    }

    private static UnsupportedOperationException unused() {
        return new UnsupportedOperationException("no backend of a GPU uses it");
    }
}
