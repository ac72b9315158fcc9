package org.horovod4j.spi;

import org.horovod4j.DataType;
import org.horovod4j.Received;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;

/// Performs collectives, one at a time. Every rank brings the same `stamp` to the same operation; a
/// backend that sees another rank's stamp differ throws before it has changed any tensor.
public interface Backend extends AutoCloseable {
    /// A tensor of zeros on which collectives need not copy.
    Tensor allocate(DataType dataType, Shape shape);

    void allreduce(long stamp, Tensor input, Tensor output, ReduceOp op, Scale scale);

    Tensor allgather(long stamp, Tensor tensor);

    void broadcast(long stamp, Tensor tensor, int rootRank);

    /// Sends rows of `tensor` to each rank.
    ///
    /// @param splits how many rows go to each rank
    Received alltoall(long stamp, Tensor tensor, int[] splits);

    Tensor reducescatter(long stamp, Tensor tensor, ReduceOp op, Scale scale);

    void barrier(long stamp);

    /// Drops what an operation that ended badly has left under way; every rank does so, between two
    /// meetings of the control plane.
    void reset();

    @Override
    void close();
}
