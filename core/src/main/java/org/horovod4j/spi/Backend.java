package org.horovod4j.spi;

import org.horovod4j.AlltoallResult;
import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;

import java.util.List;

/// Performs collectives, one at a time. Every rank brings the same `stamp` to the same operation; a
/// backend that sees another rank's stamp differ throws before it has changed any tensor.
///
/// Nor is any tensor changed while a rank has not come to an operation at all: it can be given up
/// by all ranks together, by a [#reset] of each, as if it had never begun.
public interface Backend extends AutoCloseable {
    /// A tensor of zeros on which collectives need not copy.
    Tensor allocate(DataType dataType, Shape shape);

    /// Whether `tensor` lies in memory from [#allocate], so that it can be reduced where it is.
    boolean isShared(Tensor tensor);

    /// Reduces several tensors as one.
    ///
    /// @param divisor what an average divides by: the number of ranks that bring something
    void allreduce(long stamp, FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor);

    /// Reduces several tensors as one, of which each rank wants another window back.
    ///
    /// @param divisor what an average divides by: the number of ranks that bring something
    void reducescatter(
            long stamp, FusedTensors fusedTensors, ReduceOp op, Scale scale, int divisor);

    /// Combines several tensors of a floating-point type by Adasum, each for itself.
    void adasum(long stamp, FusedTensors fusedTensors, Scale scale);

    /// Joins the rows that the ranks have of each tensor, of which there is at least one; how many
    /// rows may differ from rank to rank.
    ///
    /// @return new tensors, one for each given
    List<Tensor> allgather(long stamp, List<Tensor> tensors);

    void broadcast(long stamp, Tensor tensor, int rootRank);

    /// Sends rows of `tensor` to each rank.
    ///
    /// @param splits how many rows go to each rank
    AlltoallResult alltoall(long stamp, Tensor tensor, int[] splits);

    void barrier(long stamp);

    /// How many bytes may be reduced as one at will: up to here the bits of each result are the
    /// same whatever travels beside it. [Long#MAX_VALUE] where that is always so.
    long reproducibleFusionBytes();

    /// Uses `tuning` from the next operation on, which is the same one on all ranks.
    void tune(Tuning tuning);

    /// Drops what an operation that ended badly has left under way; every rank does so, between two
    /// meetings of the control plane.
    void reset();

    @Override
    void close();
}
