package org.horovod4j.spi;

import org.horovod4j.AlltoallResult;
import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;

import java.util.List;

/// Collectives of core in main memory for a [DeviceBackend] or [HostBackend], among the ranks of its
/// process set.
public interface HostCollectives extends HostExchange {
    /// A tensor of zeros that the ranks of the host can reduce without a copy.
    Tensor allocate(DataType dataType, Shape shape);

    /// See [CancellableBackend#allreduce].
    void allreduce(FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor);

    /// See [CancellableBackend#crossAllreduce].
    void crossAllreduce(FusedTensors fusedTensors, ReduceOp op);

    /// See [CancellableBackend#reducescatter].
    void reducescatter(FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor);

    /// See [CancellableBackend#adasum].
    void adasum(FusedTensors fusedTensors, Scale scale);

    /// See [CancellableBackend#allgather].
    List<Tensor> allgather(List<Tensor> tensors);

    /// See [CancellableBackend#broadcast].
    void broadcast(Tensor tensor, int rootRank);

    /// See [CancellableBackend#alltoall].
    AlltoallResult alltoall(Tensor tensor, int[] splits);
}
