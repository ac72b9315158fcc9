package org.horovod4j;

import org.jspecify.annotations.Nullable;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/// One rank's view of the job, and its collectives.
///
/// ```java
/// void train(Communicator comm, float[] weights) {
///     comm.broadcast("weights", weights, 0);
///     while (hasBatches()) {
///         float[] gradient = gradient(weights, nextBatch());
///         comm.allreduce("gradient", gradient, ReduceOp.AVERAGE);
///         update(weights, gradient);
///     }
/// }
/// ```
///
/// `Hvd.communicator()` serves all ranks of the job, and `processSet.communicator()` the ranks of a
/// process set. In tests, `org.horovod4j.testing.World` runs several ranks as threads.
///
/// **Names.** A program may submit operations in any order and from any thread. Submissions of
/// different ranks are the same operation if they have the same `name`. An operation runs when all
/// ranks have submitted it. A name may be in flight only once. The asynchronous methods return at
/// once; the tensors belong to the operation until its handle is done.
///
/// **Ranks.** A communicator serves one [ProcessSet]. As in MPI, every rank number in an argument
/// or a result is a rank of that process set, from 0 to [#size] - 1: [#rank], a root rank, the
/// positions of splits and of gathered rows, the result of [#join()]. [ProcessSet#jobRank] and
/// [ProcessSet#rankOf] translate. [#addProcessSet] alone takes ranks of the job, because it is an
/// operation of the whole job.
public interface Communicator extends AutoCloseable {
    /// Joins the job that `settings` describe, and returns when all its ranks have joined.
    ///
    /// For programs that do not run one process per rank, such as servers, Spark executors and
    /// tests with several ranks in one JVM. The settings are those that [Hvd#init] reads from the
    /// environment (docs/options.md). This method does not read the environment.
    ///
    /// ```java
    /// try (Communicator comm = Communicator.joinJob(Map.of(
    ///         "HOROVOD_RANK", "1",
    ///         "HOROVOD_SIZE", "4",
    ///         "HOROVOD_RENDEZVOUS_ADDR", "10.0.0.1",
    ///         "HOROVOD_RENDEZVOUS_PORT", "29400",
    ///         "HOROVOD_SECRET_KEY", secret))) {
    ///     comm.allreduce("sum", values, ReduceOp.SUM);
    /// }
    /// ```
    ///
    /// Installs no handlers in the JVM. A process that ends without [#shutdown] is a lost rank for
    /// the others.
    ///
    /// @throws ConfigurationException when a setting is unknown or wrong, or the ranks cannot find
    ///     each other
    /// @throws DismissedException when an elastic job has no place for this worker
    static Communicator joinJob(Map<String, String> settings) {
        return Hvd.joinJob(settings);
    }

    /// The rank of this process in the process set, from 0.
    int rank();

    /// The number of processes in the process set.
    int size();

    /// The number of this process among the processes of the job on its host, from 0. Programs
    /// usually use it as the number of their device.
    int localRank();

    /// The number of processes of the job on this host.
    int localSize();

    /// The number of this host among the hosts of the job that have this local rank, from 0.
    int crossRank();

    /// The number of hosts of the job that have this local rank.
    int crossSize();

    /// Whether all hosts of the job have the same number of processes.
    boolean isHomogeneous();

    /// A tensor of zeros in memory that the ranks of this host can read directly, so that
    /// collectives need not copy it. Its space is reserved until this rank leaves the job. The
    /// memory stays valid after that, for as long as the program refers to it.
    Tensor allocate(DataType dataType, Shape shape);

    /// A tensor of zeros in the memory of `device`, freed when the program no longer refers to it.
    ///
    /// @throws ConfigurationException if there is no such device, or no driver for it
    Tensor allocate(Device device, DataType dataType, Shape shape);

    /// Copies all elements of `source` to `target`, of which one or both may be on a device. Waits for
    /// the streams of [Tensor#readyOn], and until the elements are copied. Other ranks take no part.
    void copy(Tensor source, Tensor target);

    /// Reduces `input` over all ranks of the process set into `output`, which may be the same
    /// tensor.
    Handle<Tensor> allreduceAsync(
            String name, Tensor input, Tensor output, AllreduceOptions options);

    /// Reduces `tensor` over all ranks of the process set in place.
    default Handle<Tensor> allreduceAsync(String name, Tensor tensor, AllreduceOptions options) {
        return allreduceAsync(name, tensor, tensor, options);
    }

    /// Reduces `tensor` over all ranks of the process set in place.
    default Handle<Tensor> allreduceAsync(String name, Tensor tensor, ReduceOp op) {
        return allreduceAsync(name, tensor, tensor, AllreduceOptions.of(op));
    }

    /// Reduces `input` over all ranks of the process set into `output`, which may be the same
    /// tensor.
    ///
    /// @return `output`
    Tensor allreduce(String name, Tensor input, Tensor output, AllreduceOptions options);

    /// Reduces `tensor` over all ranks of the process set in place.
    ///
    /// @return `tensor`
    default Tensor allreduce(String name, Tensor tensor, AllreduceOptions options) {
        return allreduce(name, tensor, tensor, options);
    }

    /// Reduces `tensor` over all ranks of the process set in place.
    ///
    /// @return `tensor`
    default Tensor allreduce(String name, Tensor tensor, ReduceOp op) {
        return allreduce(name, tensor, tensor, AllreduceOptions.of(op));
    }

    /// Reduces the array over all ranks of the process set in place.
    default void allreduce(String name, float[] values, ReduceOp op) {
        allreduce(name, Tensor.of(values), op);
    }

    /// Reduces the array over all ranks of the process set in place.
    default void allreduce(String name, double[] values, ReduceOp op) {
        allreduce(name, Tensor.of(values), op);
    }

    /// Reduces the array over all ranks of the process set in place.
    default void allreduce(String name, int[] values, ReduceOp op) {
        allreduce(name, Tensor.of(values), op);
    }

    /// Reduces the array over all ranks of the process set in place.
    default void allreduce(String name, long[] values, ReduceOp op) {
        allreduce(name, Tensor.of(values), op);
    }

    /// Reduces the array over all ranks of the process set in place.
    default void allreduce(String name, byte[] values, ReduceOp op) {
        allreduce(name, Tensor.of(values), op);
    }

    /// Sums or averages some rows of a larger tensor over all ranks of the process set. Each rank
    /// may give different rows. `op` is AVERAGE or SUM. The rows belong to the operation until the
    /// handle is done.
    Handle<SparseResult> sparseAllreduceAsync(String name, SparseTensor tensor, ReduceOp op);

    /// Sums or averages some rows of a larger tensor over all ranks of the process set. Each rank
    /// may give different rows. `op` is AVERAGE or SUM.
    default SparseResult sparseAllreduce(String name, SparseTensor tensor, ReduceOp op) {
        return sparseAllreduceAsync(name, tensor, op).join();
    }

    /// Reduces each tensor over all ranks of the process set in place. The tensors are submitted as
    /// one group, which runs without other operations between them. With a compressor, each tensor
    /// is a separate operation.
    Handle<List<Tensor>> groupedAllreduceAsync(
            String name, List<Tensor> tensors, AllreduceOptions options);

    /// Reduces each tensor over all ranks of the process set in place, as one group.
    default Handle<List<Tensor>> groupedAllreduceAsync(
            String name, List<Tensor> tensors, ReduceOp op) {
        return groupedAllreduceAsync(name, tensors, AllreduceOptions.of(op));
    }

    /// Reduces each tensor over all ranks of the process set in place, as one group.
    default List<Tensor> groupedAllreduce(
            String name, List<Tensor> tensors, AllreduceOptions options) {
        return groupedAllreduceAsync(name, tensors, options).join();
    }

    /// Reduces each tensor over all ranks of the process set in place, as one group.
    default List<Tensor> groupedAllreduce(String name, List<Tensor> tensors, ReduceOp op) {
        return groupedAllreduceAsync(name, tensors, AllreduceOptions.of(op)).join();
    }

    /// Joins the ranks' tensors along the first dimension, in the order of ranks in the process
    /// set. First dimensions may differ, the others may not.
    Handle<Tensor> allgatherAsync(String name, Tensor tensor);

    /// Joins the ranks' tensors along the first dimension, in the order of ranks in the process
    /// set. First dimensions may differ, the others may not.
    ///
    /// @return a new tensor
    Tensor allgather(String name, Tensor tensor);

    /// Joins the ranks' arrays into a new one, in the order of ranks in the process set. Their
    /// lengths may differ.
    default float[] allgather(String name, float[] values) {
        return allgather(name, Tensor.of(values)).toFloatArray();
    }

    /// Joins the ranks' arrays into a new one, in the order of ranks in the process set. Their
    /// lengths may differ.
    default double[] allgather(String name, double[] values) {
        return allgather(name, Tensor.of(values)).toDoubleArray();
    }

    /// Joins the ranks' arrays into a new one, in the order of ranks in the process set. Their
    /// lengths may differ.
    default int[] allgather(String name, int[] values) {
        return allgather(name, Tensor.of(values)).toIntArray();
    }

    /// Joins the ranks' arrays into a new one, in the order of ranks in the process set. Their
    /// lengths may differ.
    default long[] allgather(String name, long[] values) {
        return allgather(name, Tensor.of(values)).toLongArray();
    }

    /// Joins the ranks' arrays into a new one, in the order of ranks in the process set. Their
    /// lengths may differ.
    default byte[] allgather(String name, byte[] values) {
        return allgather(name, Tensor.of(values)).toByteArray();
    }

    /// Gathers each tensor as [#allgatherAsync] does. The tensors are submitted as one group, which
    /// runs without other operations between them.
    Handle<List<Tensor>> groupedAllgatherAsync(String name, List<Tensor> tensors);

    /// Gathers each tensor as [#allgather(String, Tensor)] does, as one group.
    default List<Tensor> groupedAllgather(String name, List<Tensor> tensors) {
        return groupedAllgatherAsync(name, tensors).join();
    }

    /// Overwrites `tensor` with that of the root.
    ///
    /// @param rootRank a rank of the process set
    Handle<Tensor> broadcastAsync(String name, Tensor tensor, int rootRank);

    /// Overwrites `tensor` with that of the root.
    ///
    /// @param rootRank a rank of the process set
    /// @return `tensor`
    Tensor broadcast(String name, Tensor tensor, int rootRank);

    /// Overwrites the array with that of `rootRank`, a rank of the process set.
    default void broadcast(String name, float[] values, int rootRank) {
        broadcast(name, Tensor.of(values), rootRank);
    }

    /// Overwrites the array with that of `rootRank`, a rank of the process set.
    default void broadcast(String name, double[] values, int rootRank) {
        broadcast(name, Tensor.of(values), rootRank);
    }

    /// Overwrites the array with that of `rootRank`, a rank of the process set.
    default void broadcast(String name, int[] values, int rootRank) {
        broadcast(name, Tensor.of(values), rootRank);
    }

    /// Overwrites the array with that of `rootRank`, a rank of the process set.
    default void broadcast(String name, long[] values, int rootRank) {
        broadcast(name, Tensor.of(values), rootRank);
    }

    /// Overwrites the array with that of `rootRank`, a rank of the process set.
    default void broadcast(String name, byte[] values, int rootRank) {
        broadcast(name, Tensor.of(values), rootRank);
    }

    /// Sends rows of `tensor` to each rank of the process set, in the order of ranks. The options
    /// say how many rows each rank gets.
    Handle<AlltoallResult> alltoallAsync(String name, Tensor tensor, AlltoallOptions options);

    /// Sends rows of `tensor` to each rank of the process set, in the order of ranks. The options
    /// say how many rows each rank gets.
    AlltoallResult alltoall(String name, Tensor tensor, AlltoallOptions options);

    /// Sends the same number of rows of `tensor` to each rank of the process set, in the order of
    /// ranks.
    ///
    /// @return the rows from all ranks, in the order of ranks
    default Tensor alltoall(String name, Tensor tensor) {
        return alltoall(name, tensor, AlltoallOptions.equalSplits()).tensor();
    }

    /// Reduces `tensor` over all ranks of the process set and returns to each its part of the rows,
    /// in the order of ranks. The first ranks get one row more if rows do not divide evenly.
    Handle<Tensor> reducescatterAsync(String name, Tensor tensor, ReducescatterOptions options);

    /// Reduces `tensor` as [#reducescatterAsync(String, Tensor, ReducescatterOptions)] does. `op` is
    /// AVERAGE or SUM.
    default Handle<Tensor> reducescatterAsync(String name, Tensor tensor, ReduceOp op) {
        return reducescatterAsync(name, tensor, ReducescatterOptions.of(op));
    }

    /// Reduces `tensor` over all ranks of the process set and returns to each its part of the rows,
    /// in the order of ranks. The first ranks get one row more if rows do not divide evenly.
    ///
    /// @return a new tensor
    Tensor reducescatter(String name, Tensor tensor, ReducescatterOptions options);

    /// Reduces `tensor` as [#reducescatter(String, Tensor, ReducescatterOptions)] does. `op` is
    /// AVERAGE or SUM.
    default Tensor reducescatter(String name, Tensor tensor, ReduceOp op) {
        return reducescatter(name, tensor, ReducescatterOptions.of(op));
    }

    /// Reduces and scatters each tensor. The tensors are submitted as one group, which runs without
    /// other operations between them.
    Handle<List<Tensor>> groupedReducescatterAsync(
            String name, List<Tensor> tensors, ReducescatterOptions options);

    /// Reduces and scatters each tensor, as one group. `op` is AVERAGE or SUM.
    default Handle<List<Tensor>> groupedReducescatterAsync(
            String name, List<Tensor> tensors, ReduceOp op) {
        return groupedReducescatterAsync(name, tensors, ReducescatterOptions.of(op));
    }

    /// Reduces and scatters each tensor, as one group.
    default List<Tensor> groupedReducescatter(
            String name, List<Tensor> tensors, ReducescatterOptions options) {
        return groupedReducescatterAsync(name, tensors, options).join();
    }

    /// Reduces and scatters each tensor, as one group. `op` is AVERAGE or SUM.
    default List<Tensor> groupedReducescatter(String name, List<Tensor> tensors, ReduceOp op) {
        return groupedReducescatterAsync(name, tensors, ReducescatterOptions.of(op)).join();
    }

    /// Returns when every rank of the process set has called this.
    void barrier();

    /// Declares that this rank has no more data, and returns when all ranks of the process set have
    /// called this. Until then the rank takes part in the operations of the others without data. So
    /// ranks may have different numbers of batches:
    ///
    /// - a sum or an Adasum gets zeros from it, a product ones, a minimum or maximum nothing;
    /// - an average divides by the number of all ranks, as in Horovod, or by those that have not
    ///   joined, as `HOROVOD_JOIN_AVERAGE` says;
    /// - an allgather and an alltoall get no rows from it. Rows for it are dropped, and so are its
    ///   rows of a reducescatter;
    /// - it cannot be the root of a broadcast.
    ///
    /// @return the last rank to join, as a rank of the process set: the same on all ranks
    int join();

    /// Ends a training step that has failed on this rank, so that all ranks can make the next one. Other
    /// ranks may wait for operations that this rank has not submitted. These fail on them with a
    /// [MismatchException] that contains `reason`, and so does what they submit until they call this
    /// too. Returns when all ranks of the process set have called this, except those that have
    /// joined. Then nothing of the step is in flight.
    ///
    /// ```java
    /// try {
    ///     step(batch);
    /// } catch (BadBatchException e) {
    ///     comm.failStep(e.toString());
    /// } catch (MismatchException e) { // of another rank
    ///     comm.failStep("another rank failed");
    /// }
    /// ```
    ///
    /// An operation that this rank has submitted completes if all ranks have submitted it, and fails
    /// otherwise. Operations of other process sets are not affected: call this in each of them. Some ranks may have completed the step,
    /// so their weights may differ: broadcast them again, or restore a checkpoint. A program that
    /// ends after a failure need not call this: the other ranks learn of its end.
    ///
    /// @param reason for the messages on other ranks
    void failStep(String reason);

    /// The ranks that this communicator serves.
    ProcessSet processSet();

    /// All process sets of the job. The set of all ranks is the first.
    List<ProcessSet> processSets();

    /// Adds a process set. All ranks of the job call this with the same ranks, members or not.
    /// It returns when all have called it.
    ///
    /// @param ranks of the job, in any order
    /// @throws IllegalArgumentException when a rank does not exist, is given twice, or a set of
    ///     these ranks exists
    /// @throws MismatchException when the ranks ask for different sets
    ProcessSet addProcessSet(int... ranks);

    /// Removes a process set, on all ranks of the job together. Operations in flight in it fail.
    ///
    /// @return false for the set of all ranks, and for a set that was removed before
    /// @throws MismatchException when the ranks pass different sets
    boolean removeProcessSet(ProcessSet processSet);

    /// Starts a trace file for `chrome://tracing` or Perfetto. A trace that is being written is
    /// ended first.
    ///
    /// @param markCycles whether to mark each round of negotiation
    void startTimeline(Path file, boolean markCycles);

    /// Ends the trace, if one is being written.
    void stopTimeline();

    /// What every rank of the job is doing, as text: which operations are in flight, for how long,
    /// and which ranks have not submitted them. Works while the programs of other ranks hang. Names
    /// ranks of the job.
    String describeState();

    /// Returns the object of the root on every rank of the process set. It is a string, number,
    /// boolean, byte array, enum or null, or a list, map or record of these. The objects of other
    /// ranks are ignored.
    ///
    /// @param rootRank a rank of the process set
    <T extends @Nullable Object> T broadcastObject(String name, T object, int rootRank);

    /// The objects of all ranks, in the order of ranks in the process set. See [#broadcastObject]
    /// for what they may be.
    <T extends @Nullable Object> List<T> allgatherObject(String name, T object);

    /// Whether this communicator can be used: this rank has not left the job, and this view is not
    /// closed.
    boolean isOpen();

    /// Leaves the job, with all process sets. Operations of other ranks that need this rank fail
    /// with [ShutDownException]. A second call does nothing.
    void shutdown();

    /// Closes this view. On the communicator of all ranks this is [#shutdown]. On that of a smaller
    /// process set, the set and the job continue: later calls of this object throw
    /// [IllegalStateException], and [ProcessSet#communicator] gives a new view. A second call does
    /// nothing.
    @Override
    void close();
}
