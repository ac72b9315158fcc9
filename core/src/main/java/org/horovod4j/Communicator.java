package org.horovod4j;

import org.jspecify.annotations.Nullable;

import java.nio.file.Path;
import java.util.List;

/// One rank's view of the job, and its collectives.
///
/// Operations are submitted in any order, from any thread, and find each other by `name`: an
/// operation runs when all ranks have submitted it, and what was submitted together travels
/// together. A name may not be in flight twice. The asynchronous forms return at once; the tensors
/// belong to the operation until its handle is done.
///
/// A communicator serves one [ProcessSet]. Ranks in arguments, such as a root rank, are those of
/// the job.
public interface Communicator extends AutoCloseable {
    /// This process among those of the process set, from 0.
    int rank();

    /// How many processes the process set has.
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
    /// nothing in or out. Its room is taken until this communicator is closed, and its memory stays
    /// where it is for as long after that as the program holds it.
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

    /// Reduces `tensor` over all ranks in place, sent as small as `compressor` makes it.
    default Handle<Tensor> allreduceAsync(
            String name, Tensor tensor, ReduceOp op, Compressor compressor) {
        return compressor.allreduceAsync(this, name, tensor, op);
    }

    /// Reduces `tensor` over all ranks in place, sent as small as `compressor` makes it.
    default Tensor allreduce(String name, Tensor tensor, ReduceOp op, Compressor compressor) {
        return allreduceAsync(name, tensor, op, compressor).join();
    }

    /// Sums or averages some rows of a larger tensor over all ranks, which may bring different
    /// rows. `op` is AVERAGE or SUM. The rows belong to Horovod4J until the handle is done.
    Handle<SparseResult> sparseAllreduceAsync(String name, SparseTensor tensor, ReduceOp op);

    /// Sums or averages some rows of a larger tensor over all ranks, which may bring different
    /// rows.
    default SparseResult sparseAllreduce(String name, SparseTensor tensor, ReduceOp op) {
        return sparseAllreduceAsync(name, tensor, op).join();
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
    Handle<AlltoallResult> alltoallAsync(String name, Tensor tensor, int @Nullable [] splits);

    /// Sends `splits[r]` rows of `tensor` to each rank r, in order; without splits, equal shares.
    AlltoallResult alltoall(String name, Tensor tensor, int @Nullable [] splits);

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

    /// Says that this rank has no more data, and returns when all ranks have said so. Until then it
    /// takes part with nothing of its own in whatever the others do, so that ranks may have
    /// different numbers of batches:
    ///
    /// - a sum or an Adasum gets zeros from it, a product ones, a minimum or maximum nothing;
    /// - an average divides by the number of all ranks, as in Horovod, or by those that have not
    ///   joined, as `HOROVOD_JOIN_AVERAGE` says;
    /// - an allgather gets no rows from it, an alltoall neither, and the rows meant for it fall
    ///   away, as do its rows of a reducescatter;
    /// - it cannot be the root of a broadcast.
    ///
    /// @return the last rank to join, as a rank of the job: the same for all
    int join();

    /// The ranks that this communicator serves.
    ProcessSet processSet();

    /// All process sets there are, that of all ranks first.
    List<ProcessSet> processSets();

    /// Makes a process set. All ranks of the job call this with the same ranks, members or not, and
    /// it returns when all have.
    ///
    /// @param ranks of the job, in any order
    /// @throws IllegalArgumentException when a rank does not exist, comes twice, or there is such a
    ///     set
    /// @throws MismatchException when the ranks want different sets
    ProcessSet addProcessSet(int... ranks);

    /// Removes a process set, on all ranks of the job together. Operations in flight in it fail.
    ///
    /// @return false for the set of all ranks, and for a set that is not there any more
    boolean removeProcessSet(ProcessSet processSet);

    /// Writes a trace of what happens from now on to a file, for `chrome://tracing` or Perfetto. A
    /// trace that is being written is ended first.
    ///
    /// @param markCycles whether to mark each round of negotiation
    void startTimeline(Path file, boolean markCycles);

    /// Ends the trace, if one is being written.
    void stopTimeline();

    /// What every rank is doing, for people: which operations are in flight, for how long, and
    /// which ranks lack them. Asks the other ranks, but not their programs, so it works while these
    /// hang.
    String describeState();

    /// The object of `rootRank`, on every rank: strings, numbers, booleans, byte arrays, enums,
    /// null, and lists, maps and records of these. What the other ranks pass is ignored.
    <T extends @Nullable Object> T broadcastObject(String name, T object, int rootRank);

    /// The objects of all ranks, in rank order. See [#broadcastObject] for what they may be.
    <T extends @Nullable Object> List<T> allgatherObject(String name, T object);

    /// Whether this rank has not left: its numbers mean something, and operations may be asked for.
    default boolean isOpen() {
        return true;
    }

    /// Leaves the job; what other ranks still want of this one fails with [ShutDownException].
    @Override
    void close();
}
