package org.horovod4j;

import org.jspecify.annotations.Nullable;

import java.util.List;

/// One rank's view of the job, and its collectives.
///
/// Every rank must call the same collectives in the same order, from one thread or under the
/// caller's own ordering. `name` says what a tensor is, in errors and traces; every rank gives the
/// same one, and a name may not be in flight twice. The synchronous forms run on the calling thread
/// when nothing is queued before them; the asynchronous ones return at once and run in the order of
/// submission.
public interface Communicator extends AutoCloseable {
    /// This process among all, from 0.
    int rank();

    /// How many processes there are.
    int size();

    /// This process among those of its host, from 0: usually the number of its device.
    int localRank();

    /// How many processes this host has.
    int localSize();

    /// This host among the hosts that have this local rank.
    int crossRank();

    /// How many hosts have this local rank.
    int crossSize();

    /// Whether every host has as many processes as the others.
    boolean isHomogeneous();

    /// A tensor of zeros that the ranks of this host can reach directly: collectives on it copy
    /// nothing in or out. It lives until this communicator is closed.
    Tensor allocate(DataType dataType, Shape shape);

    /// Reduces `input` over all ranks into `output`, which may be the same tensor.
    Handle<Tensor> allreduceAsync(
            String name, Tensor input, Tensor output, ReduceOp op, Scale scale);

    /// Like [#allreduceAsync(String, Tensor, Tensor, ReduceOp, Scale)], in place and unscaled.
    default Handle<Tensor> allreduceAsync(String name, Tensor tensor, ReduceOp op) {
        return allreduceAsync(name, tensor, tensor, op, Scale.NONE);
    }

    /// Reduces `input` over all ranks into `output`, which may be the same tensor.
    ///
    /// @return `output`
    Tensor allreduce(String name, Tensor input, Tensor output, ReduceOp op, Scale scale);

    /// Reduces `tensor` over all ranks in place.
    default Tensor allreduce(String name, Tensor tensor, ReduceOp op) {
        return allreduce(name, tensor, tensor, op, Scale.NONE);
    }

    /// Reduces `tensor` over all ranks in place, scaled before and after.
    default Tensor allreduce(String name, Tensor tensor, ReduceOp op, Scale scale) {
        return allreduce(name, tensor, tensor, op, scale);
    }

    /// Reduces the array over all ranks in place.
    default void allreduce(String name, float[] values, ReduceOp op) {
        allreduce(name, Tensor.of(values), op);
    }

    /// Reduces the array over all ranks in place.
    default void allreduce(String name, double[] values, ReduceOp op) {
        allreduce(name, Tensor.of(values), op);
    }

    /// Reduces each tensor over all ranks in place, submitted as one: nothing comes between them.
    Handle<List<Tensor>> groupedAllreduceAsync(
            String name, List<Tensor> tensors, ReduceOp op, Scale scale);

    /// Reduces each tensor over all ranks in place, submitted as one.
    default List<Tensor> groupedAllreduce(String name, List<Tensor> tensors, ReduceOp op) {
        return groupedAllreduceAsync(name, tensors, op, Scale.NONE).join();
    }

    /// Joins the ranks' tensors along the first dimension, in rank order. First dimensions may
    /// differ, the others may not.
    Handle<Tensor> allgatherAsync(String name, Tensor tensor);

    /// Joins the ranks' tensors along the first dimension, in rank order.
    Tensor allgather(String name, Tensor tensor);

    /// Gathers each tensor, submitted as one: nothing comes between them.
    Handle<List<Tensor>> groupedAllgatherAsync(String name, List<Tensor> tensors);

    /// Gathers each tensor, submitted as one.
    default List<Tensor> groupedAllgather(String name, List<Tensor> tensors) {
        return groupedAllgatherAsync(name, tensors).join();
    }

    /// Overwrites `tensor` with that of `rootRank`.
    Handle<Tensor> broadcastAsync(String name, Tensor tensor, int rootRank);

    /// Overwrites `tensor` with that of `rootRank`.
    Tensor broadcast(String name, Tensor tensor, int rootRank);

    /// Sends `splits[r]` rows of `tensor` to each rank r, in order; without splits, equal shares.
    Handle<Received> alltoallAsync(String name, Tensor tensor, int @Nullable [] splits);

    /// Sends `splits[r]` rows of `tensor` to each rank r, in order; without splits, equal shares.
    Received alltoall(String name, Tensor tensor, int @Nullable [] splits);

    /// Sends an equal share of the rows of `tensor` to each rank, in order.
    default Tensor alltoall(String name, Tensor tensor) {
        return alltoall(name, tensor, null).tensor();
    }

    /// Reduces `tensor` over all ranks and leaves each with its share of the rows; the first ranks
    /// get one more where they do not divide evenly. `op` is AVERAGE or SUM.
    Handle<Tensor> reducescatterAsync(String name, Tensor tensor, ReduceOp op, Scale scale);

    /// Reduces `tensor` over all ranks and leaves each with its share of the rows.
    Tensor reducescatter(String name, Tensor tensor, ReduceOp op, Scale scale);

    /// Reduces `tensor` over all ranks and leaves each with its share of the rows.
    default Tensor reducescatter(String name, Tensor tensor, ReduceOp op) {
        return reducescatter(name, tensor, op, Scale.NONE);
    }

    /// Reduces and scatters each tensor, submitted as one: nothing comes between them.
    Handle<List<Tensor>> groupedReducescatterAsync(
            String name, List<Tensor> tensors, ReduceOp op, Scale scale);

    /// Reduces and scatters each tensor, submitted as one.
    default List<Tensor> groupedReducescatter(String name, List<Tensor> tensors, ReduceOp op) {
        return groupedReducescatterAsync(name, tensors, op, Scale.NONE).join();
    }

    /// Returns once every rank has come here.
    void barrier();

    /// The object of `rootRank`, on every rank: strings, numbers, booleans, byte arrays, enums, null,
    /// and lists, maps and records of these. What the other ranks pass is ignored.
    <T extends @Nullable Object> T broadcastObject(String name, T object, int rootRank);

    /// The objects of all ranks, in rank order. See [#broadcastObject] for what they may be.
    <T extends @Nullable Object> List<T> allgatherObject(String name, T object);

    /// Leaves the job; what other ranks still want of this one fails with [ShutDownException].
    @Override
    void close();
}
