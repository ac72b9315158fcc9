package org.horovod4j;

import org.horovod4j.runtime.HvdRuntime;
import org.horovod4j.runtime.Rank;
import org.jspecify.annotations.Nullable;

import java.nio.file.Path;
import java.util.List;

/// Horovod for a training program: one process, one rank, one world at a time.
///
/// ```java
/// Hvd.init();
/// float rate = 0.1f * Hvd.size();
/// Hvd.broadcast("weights", Tensor.of(weights), 0);
/// // every step:
/// Hvd.allreduce("gradient", gradient, ReduceOp.AVERAGE);
/// ```
///
/// Started by `horovodrun -np 4 …` there are four such ranks; started without it, a world of one,
/// in which every collective works. Code that is handed a [Communicator] does not need this class.
public final class Hvd {
    private static final Object LOCK = new Object();
    private static volatile @Nullable HvdRuntime runtime;
    private static volatile @Nullable Rank rank;

    private Hvd() {}

    /// Joins the job, or makes a world of one without a launcher, and returns when all ranks have
    /// joined. A second call does nothing; after [#shutdown] it joins anew, with all the others.
    ///
    /// In an elastic job it waits for a place in the next generation, after a failure too. When
    /// there is no place for this process any more, the process ends, with exit code 0.
    public static void init() {
        init(List.of());
    }

    /// Like [#init()], and makes process sets, the same on every rank, numbered from 1.
    ///
    /// @param processSets the ranks of each
    /// @throws IllegalArgumentException on every rank, when a set is not possible
    /// @throws MismatchException on every rank, when the ranks want different sets
    public static void init(List<List<Integer>> processSets) {
        try {
            join(processSets);
        } catch (DismissedException e) { // which is logged, and no failure
            System.exit(0);
        }
    }

    private static void join(List<List<Integer>> processSets) {
        synchronized (LOCK) {
            Rank running = rank;
            if (running != null && running.canRejoin()) {
                running.close();
            }
            if (isInitialized()) {
                return;
            }
            HvdRuntime process = runtime;
            if (process == null) {
                process = new HvdRuntime(System.getenv());
                runtime = process;
                UncaughtExceptionReporter.install();
                Runtime.getRuntime().addShutdownHook(new Thread(Hvd::onProcessExit, "hvd-exit"));
            }
            rank = process.start(processSets);
        }
    }

    /// Leaves the job. Other ranks' collectives that still want this rank fail; [#init] may follow.
    public static void shutdown() {
        synchronized (LOCK) {
            Rank running = rank;
            rank = null;
            if (running != null) {
                running.close();
            }
        }
    }

    /// Leaves the job as a failure: the other ranks hear of it at once, with this reason, as they
    /// would of a process that died.
    ///
    /// @param reason continues "rank 3 on node2 is lost:"
    public static void abandon(String reason) {
        synchronized (LOCK) {
            Rank running = rank;
            rank = null;
            if (running != null) {
                running.abort(reason);
            }
        }
    }

    private static void onProcessExit() {
        Rank running = rank;
        if (running != null) {
            running.abort(UncaughtExceptionReporter.reason());
        }
        HvdRuntime serving = runtime;
        if (serving != null) {
            serving.closeRendezvous();
        }
    }

    public static boolean isInitialized() {
        Rank running = rank;
        return running != null && !running.isClosed();
    }

    /// This process's communicator.
    ///
    /// @throws IllegalStateException before [#init] and after [#shutdown]
    public static Communicator communicator() {
        return running().communicator();
    }

    /// How this process belongs to its job at present.
    ///
    /// @throws IllegalStateException before [#init] and after [#shutdown]
    public static Membership membership() {
        return running().membership();
    }

    private static Rank running() {
        Rank running = rank;
        if (running == null || running.isClosed()) {
            throw new IllegalStateException("Horovod4J is not initialised: call Hvd.init() first");
        }
        return running;
    }

    /// See [Communicator#rank].
    public static int rank() {
        return communicator().rank();
    }

    /// See [Communicator#size].
    public static int size() {
        return communicator().size();
    }

    /// See [Communicator#localRank].
    public static int localRank() {
        return communicator().localRank();
    }

    /// See [Communicator#localSize].
    public static int localSize() {
        return communicator().localSize();
    }

    /// See [Communicator#crossRank].
    public static int crossRank() {
        return communicator().crossRank();
    }

    /// See [Communicator#crossSize].
    public static int crossSize() {
        return communicator().crossSize();
    }

    /// See [Communicator#isHomogeneous].
    public static boolean isHomogeneous() {
        return communicator().isHomogeneous();
    }

    /// See [Communicator#allocate].
    public static Tensor allocate(DataType dataType, Shape shape) {
        return communicator().allocate(dataType, shape);
    }

    /// See [Communicator#allreduce(String, Tensor, ReduceOp)].
    public static Tensor allreduce(String name, Tensor tensor, ReduceOp op) {
        return communicator().allreduce(name, tensor, op);
    }

    /// See [Communicator#allreduce(String, float[], ReduceOp)].
    public static void allreduce(String name, float[] values, ReduceOp op) {
        communicator().allreduce(name, values, op);
    }

    /// See [Communicator#allreduce(String, double[], ReduceOp)].
    public static void allreduce(String name, double[] values, ReduceOp op) {
        communicator().allreduce(name, values, op);
    }

    /// See [Communicator#allreduce(String, Tensor, ReduceOp, Scale)].
    public static Tensor allreduce(String name, Tensor tensor, ReduceOp op, Scale scale) {
        return communicator().allreduce(name, tensor, op, scale);
    }

    /// See [Communicator#allreduce(String, Tensor, Tensor, ReduceOp, Scale)].
    public static Tensor allreduce(
            String name, Tensor input, Tensor output, ReduceOp op, Scale scale) {
        return communicator().allreduce(name, input, output, op, scale);
    }

    /// See [Communicator#allreduceAsync(String, Tensor, ReduceOp)].
    public static Handle<Tensor> allreduceAsync(String name, Tensor tensor, ReduceOp op) {
        return communicator().allreduceAsync(name, tensor, op);
    }

    /// See [Communicator#allreduceAsync(String, Tensor, Tensor, ReduceOp, Scale)].
    public static Handle<Tensor> allreduceAsync(
            String name, Tensor input, Tensor output, ReduceOp op, Scale scale) {
        return communicator().allreduceAsync(name, input, output, op, scale);
    }

    /// See [Communicator#allreduceAsync(String, Tensor, ReduceOp, Compressor)].
    public static Handle<Tensor> allreduceAsync(
            String name, Tensor tensor, ReduceOp op, Compressor compressor) {
        return communicator().allreduceAsync(name, tensor, op, compressor);
    }

    /// See [Communicator#allreduce(String, Tensor, ReduceOp, Compressor)].
    public static Tensor allreduce(String name, Tensor tensor, ReduceOp op, Compressor compressor) {
        return communicator().allreduce(name, tensor, op, compressor);
    }

    /// See [Communicator#sparseAllreduceAsync].
    public static Handle<SparseResult> sparseAllreduceAsync(
            String name, SparseTensor tensor, ReduceOp op) {
        return communicator().sparseAllreduceAsync(name, tensor, op);
    }

    /// See [Communicator#sparseAllreduce].
    public static SparseResult sparseAllreduce(String name, SparseTensor tensor, ReduceOp op) {
        return communicator().sparseAllreduce(name, tensor, op);
    }

    /// See [Communicator#groupedAllreduce].
    public static List<Tensor> groupedAllreduce(String name, List<Tensor> tensors, ReduceOp op) {
        return communicator().groupedAllreduce(name, tensors, op);
    }

    /// See [Communicator#groupedAllreduceAsync].
    public static Handle<List<Tensor>> groupedAllreduceAsync(
            String name, List<Tensor> tensors, ReduceOp op, Scale scale) {
        return communicator().groupedAllreduceAsync(name, tensors, op, scale);
    }

    /// See [Communicator#allgather].
    public static Tensor allgather(String name, Tensor tensor) {
        return communicator().allgather(name, tensor);
    }

    /// See [Communicator#allgatherAsync].
    public static Handle<Tensor> allgatherAsync(String name, Tensor tensor) {
        return communicator().allgatherAsync(name, tensor);
    }

    /// See [Communicator#groupedAllgather].
    public static List<Tensor> groupedAllgather(String name, List<Tensor> tensors) {
        return communicator().groupedAllgather(name, tensors);
    }

    /// See [Communicator#groupedAllgatherAsync].
    public static Handle<List<Tensor>> groupedAllgatherAsync(String name, List<Tensor> tensors) {
        return communicator().groupedAllgatherAsync(name, tensors);
    }

    /// See [Communicator#broadcast].
    public static Tensor broadcast(String name, Tensor tensor, int rootRank) {
        return communicator().broadcast(name, tensor, rootRank);
    }

    /// See [Communicator#broadcastAsync].
    public static Handle<Tensor> broadcastAsync(String name, Tensor tensor, int rootRank) {
        return communicator().broadcastAsync(name, tensor, rootRank);
    }

    /// See [Communicator#alltoall(String, Tensor)].
    public static Tensor alltoall(String name, Tensor tensor) {
        return communicator().alltoall(name, tensor);
    }

    /// See [Communicator#alltoall(String, Tensor, int[])].
    public static AlltoallResult alltoall(String name, Tensor tensor, int @Nullable [] splits) {
        return communicator().alltoall(name, tensor, splits);
    }

    /// See [Communicator#alltoallAsync].
    public static Handle<AlltoallResult> alltoallAsync(
            String name, Tensor tensor, int @Nullable [] splits) {
        return communicator().alltoallAsync(name, tensor, splits);
    }

    /// See [Communicator#reducescatter(String, Tensor, ReduceOp)].
    public static Tensor reducescatter(String name, Tensor tensor, ReduceOp op) {
        return communicator().reducescatter(name, tensor, op);
    }

    /// See [Communicator#reducescatter(String, Tensor, ReduceOp, Scale)].
    public static Tensor reducescatter(String name, Tensor tensor, ReduceOp op, Scale scale) {
        return communicator().reducescatter(name, tensor, op, scale);
    }

    /// See [Communicator#reducescatterAsync].
    public static Handle<Tensor> reducescatterAsync(
            String name, Tensor tensor, ReduceOp op, Scale scale) {
        return communicator().reducescatterAsync(name, tensor, op, scale);
    }

    /// See [Communicator#groupedReducescatter].
    public static List<Tensor> groupedReducescatter(
            String name, List<Tensor> tensors, ReduceOp op) {
        return communicator().groupedReducescatter(name, tensors, op);
    }

    /// See [Communicator#groupedReducescatterAsync].
    public static Handle<List<Tensor>> groupedReducescatterAsync(
            String name, List<Tensor> tensors, ReduceOp op, Scale scale) {
        return communicator().groupedReducescatterAsync(name, tensors, op, scale);
    }

    /// See [Communicator#barrier].
    public static void barrier() {
        communicator().barrier();
    }

    /// See [Communicator#join].
    public static int join() {
        return communicator().join();
    }

    /// The process set of all ranks.
    public static ProcessSet globalProcessSet() {
        return communicator().processSet();
    }

    /// See [Communicator#processSets].
    public static List<ProcessSet> processSets() {
        return communicator().processSets();
    }

    /// See [Communicator#addProcessSet].
    public static ProcessSet addProcessSet(int... ranks) {
        return communicator().addProcessSet(ranks);
    }

    /// See [Communicator#removeProcessSet].
    public static boolean removeProcessSet(ProcessSet processSet) {
        return communicator().removeProcessSet(processSet);
    }

    /// See [Communicator#startTimeline].
    public static void startTimeline(Path file, boolean markCycles) {
        communicator().startTimeline(file, markCycles);
    }

    /// See [Communicator#stopTimeline].
    public static void stopTimeline() {
        communicator().stopTimeline();
    }

    /// See [Communicator#describeState].
    public static String describeState() {
        return communicator().describeState();
    }

    /// See [Communicator#broadcastObject].
    public static <T extends @Nullable Object> T broadcastObject(
            String name, T object, int rootRank) {
        return communicator().broadcastObject(name, object, rootRank);
    }

    /// See [Communicator#allgatherObject].
    public static <T extends @Nullable Object> List<T> allgatherObject(String name, T object) {
        return communicator().allgatherObject(name, object);
    }
}
