package org.horovod4j.spi;

import org.horovod4j.AlltoallResult;
import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;

import java.util.List;

/// Performs collectives in main memory, one at a time, so that the ranks can cancel one together. This
/// is what locked plans need: while a plan runs, a rank starts the next batch without asking, and learns
/// only then that another rank leaves the plan.
///
/// Core has one implementation, which everything else builds on: backends that cannot cancel
/// ([Backend]) run after a [#barrier] of it.
///
/// All ranks pass the same `stamp` to the same collective. If the stamp of another rank differs,
/// the backend throws before it changes any tensor.
///
/// No tensor changes, and no rank completes the collective, before all ranks have started it. Until
/// then the ranks can cancel it together: each calls [#reset], and the tensors are unchanged.
///
/// ```java
/// CancellableBackend backend = new CpuBackend(
///         localGroup, crossGroup, kernels, activities, helpers, StreamingStoresChoice.AUTO);
/// FusedTensors fused = new FusedTensors(DataType.FLOAT32, tensor.elementCount());
/// fused.set(0, tensor.segment(), tensor.segment());
/// backend.allreduce(stamp, fused, ReduceOp.SUM, Scale.NONE, size); // on every rank
/// ```
public interface CancellableBackend extends AutoCloseable {
    /// A zeroed tensor in memory that collectives can use without a copy.
    Tensor allocate(DataType dataType, Shape shape);

    /// Whether `tensor` lies in memory from [#allocate], so that it can be reduced in place.
    boolean isShared(Tensor tensor);

    /// Allreduce over fused tensors.
    ///
    /// @param divisor what AVERAGE divides by: the number of ranks that contribute data
    void allreduce(long stamp, FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor);

    /// Allreduce between hosts: among the ranks that have the same place in their memory domains, each
    /// such group by itself. All domains have equally many ranks.
    void crossAllreduce(long stamp, FusedTensors fusedTensors, ReduceOp op);

    /// Reduce-scatter over fused tensors. Each rank receives its own output range of each tensor.
    ///
    /// @param divisor what AVERAGE divides by: the number of ranks that contribute data
    void reducescatter(
            long stamp, FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor);

    /// Adasum over fused tensors of a floating-point type. Each tensor is combined separately.
    void adasum(long stamp, FusedTensors fusedTensors, Scale scale);

    /// Concatenates the rows of all ranks, tensor by tensor. The list has at least one tensor. The
    /// number of rows may differ from rank to rank.
    ///
    /// @return new tensors, one per input tensor
    List<Tensor> allgather(long stamp, List<Tensor> tensors);

    void broadcast(long stamp, Tensor tensor, int rootRank);

    /// Sends rows of `tensor` to every rank.
    ///
    /// @param splits the number of rows for each rank
    AlltoallResult alltoall(long stamp, Tensor tensor, int[] splits);

    void barrier(long stamp);

    /// The largest number of bytes that may be fused freely: up to this size the bits of each
    /// result do not depend on which tensors are fused. [Long#MAX_VALUE] if that holds for all
    /// sizes.
    long reproducibleFusionBytes();

    /// Uses `tuning` from the next collective on. All ranks call this before the same collective.
    void tune(Tuning tuning);

    /// Discards the state of a collective that failed or was cancelled. All ranks call this between
    /// two exchanges of the control plane.
    void reset();

    @Override
    void close();
}
