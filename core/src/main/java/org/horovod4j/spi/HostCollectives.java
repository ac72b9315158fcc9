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
///
/// Only for use inside [DeviceBackendProvider#create] or [HostBackendProvider#create], and the collectives
/// of the backend, on the thread that calls them. All ranks are in the same call then, so all make the same calls here in the same
/// order. If a rank is lost, a call throws; the backend lets the exception pass.
public interface HostCollectives {
    /// This rank in the process set.
    int rank();

    int size();

    /// A tensor of zeros that the ranks of the host can reduce without a copy.
    Tensor allocate(DataType dataType, Shape shape);

    /// Throws if a rank is lost. For waits of the backend, such as that of `ncclCommInitRankConfig`.
    void check();

    /// Waits on the CPU for `event`, and releases it. Throws if a rank is lost.
    void await(DeviceEvent event);

    /// Returns when all ranks have called it: some microseconds on one host.
    void barrier();

    /// The bytes of all ranks, by rank. They may differ in length.
    List<byte[]> allgather(byte[] mine);

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
