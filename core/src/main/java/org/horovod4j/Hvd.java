package org.horovod4j;

import org.horovod4j.runtime.HvdRuntime;
import org.horovod4j.runtime.Rank;
import org.horovod4j.runtime.UncaughtExceptionReporter;
import org.jspecify.annotations.Nullable;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/// Horovod for a training program: one process, one rank, one job at a time.
///
/// ```java
/// Hvd.init();
/// float rate = 0.1f * Hvd.size();
/// Hvd.broadcast("weights", weights, 0);
/// // every step:
/// Hvd.allreduce("gradient", gradient, ReduceOp.AVERAGE);
/// ```
///
/// `horovodrun -np 4 …` starts four such ranks. Without it the process is a job of one rank, in
/// which every collective works. [#communicator] returns the [Communicator] of this process. The
/// methods after it call the communicator's method of the same name. Code that has a communicator
/// does not need this class.
public final class Hvd {
    private static final Object LOCK = new Object();
    private static volatile @Nullable HvdRuntime runtime;
    private static volatile @Nullable Rank rank;
    private static volatile boolean exiting;

    private Hvd() {}

    /// Joins the job, and returns when all ranks have joined. A call while this process is in a job
    /// does nothing. After [#shutdown] it joins again, together with the other ranks.
    ///
    /// The first call reads the options from the environment (docs/options.md); later calls use
    /// what the first one read. It installs in the JVM, unless `HOROVOD_JVM_HOOKS=0`:
    ///
    /// - a default handler of uncaught exceptions. It keeps the exception and calls the
    ///   previous handler. Without a previous handler it prints the stack trace, as the JVM does,
    ///   but one line if this rank stops only because another rank is gone, and nothing if it stops
    ///   because its own process is ending. If the process then ends, the other ranks get the
    ///   exception as the reason. A handler that the program sets later replaces this one.
    /// - a shutdown hook. If the process ends while it is in the job, the hook reports that to the
    ///   other ranks at once. Without it they find out when the connections break.
    /// - a handler of the signal that `HOROVOD_STATE_SIGNAL` names. It logs what all ranks do, and
    ///   calls the previous handler.
    ///
    /// In an elastic job it waits for a place in the next generation, also after a failure. It
    /// never ends the JVM.
    ///
    /// @throws ConfigurationException when an option is wrong, or the ranks cannot find each other
    /// @throws DismissedException when an elastic job has no place for this worker: return from
    ///     `main`, or call [org.horovod4j.elastic.Elastic#run], which does
    public static void init() {
        init(List.of());
    }

    /// Like [#init()], and adds process sets, numbered from 1. All ranks pass the same sets.
    ///
    /// @param processSets the members of each set, as ranks of the job
    /// @throws IllegalArgumentException on every rank, when a set is not valid
    /// @throws MismatchException on every rank, when the ranks ask for different sets
    public static void init(List<List<Integer>> processSets) {
        synchronized (LOCK) {
            HvdRuntime process = runtime;
            join(process == null ? start(new HvdRuntime(System.getenv())) : process, processSets);
        }
    }

    /// Like [#init()], with options from `settings` in place of the environment. The keys are the
    /// names of the environment variables, such as `HOROVOD_RANK`. Later calls of [#init()] use
    /// these settings too. For several ranks in one JVM, see [Communicator#joinJob].
    ///
    /// @throws ConfigurationException when a setting is unknown or wrong, or the ranks cannot find
    ///     each other
    public static void init(Map<String, String> settings) {
        synchronized (LOCK) {
            if (isInitialized()) {
                return;
            }
            HvdRuntime process = HvdRuntime.of(settings);
            replaceRuntime(process);
            join(process, List.of());
        }
    }

    /// Reads options from `settings` in place of the environment, and does not join yet: the next
    /// [#init()] uses them. For what runs programs of others in its own JVM, such as an executor of
    /// a cluster.
    ///
    /// @throws ConfigurationException when a setting is unknown or wrong
    /// @throws IllegalStateException while this process is in a job
    public static void configure(Map<String, String> settings) {
        synchronized (LOCK) {
            if (isInitialized()) {
                throw new IllegalStateException(
                        "this process is in a job: call Hvd.shutdown() before Hvd.configure()");
            }
            replaceRuntime(HvdRuntime.of(settings));
        }
    }

    /// See [Communicator#joinJob].
    static Communicator joinJob(Map<String, String> settings) {
        return HvdRuntime.of(settings).startOnly().communicator();
    }

    private static void replaceRuntime(HvdRuntime process) {
        HvdRuntime before = runtime;
        if (before == null) {
            start(process);
        } else {
            before.close();
            runtime = process;
        }
    }

    private static HvdRuntime start(HvdRuntime process) {
        runtime = process;
        if (process.hasJvmHooks()) {
            UncaughtExceptionReporter reporter =
                    new UncaughtExceptionReporter(() -> exiting, Hvd::isBlocked);
            reporter.install();
            Runtime.getRuntime()
                    .addShutdownHook(
                            new Thread(() -> onProcessExit(reporter.reason()), "hvd-exit"));
        }
        return process;
    }

    private static void join(HvdRuntime process, List<List<Integer>> processSets) {
        Rank running = rank;
        if (running != null && running.canRejoin()) {
            running.close();
        }
        if (!isInitialized()) {
            rank = process.start(processSets);
        }
    }

    private static boolean isBlocked() {
        Rank running = rank;
        return running != null && running.isBlocked();
    }

    private static void onProcessExit(String reason) {
        exiting = true;
        Rank running = rank;
        if (running != null) {
            running.exit(reason);
        }
        HvdRuntime serving = runtime;
        if (serving != null) {
            serving.onProcessExit();
        }
    }

    /// Leaves the job; see [Communicator#shutdown]. [#init] may follow.
    public static void shutdown() {
        synchronized (LOCK) {
            Rank running = rank;
            rank = null;
            if (running != null) {
                running.close();
            }
        }
    }

    /// Leaves the job as a failure: the other ranks get this reason at once, as they do when a
    /// process dies.
    ///
    /// @param reason follows "rank 3 on node2 is lost:" in the message of the other ranks
    public static void abort(String reason) {
        synchronized (LOCK) {
            Rank running = rank;
            rank = null;
            if (running != null) {
                running.abort(reason);
            }
        }
    }

    /// Whether this process is in a job.
    public static boolean isInitialized() {
        Rank running = rank;
        return running != null && !running.isClosed();
    }

    /// The communicator of all ranks.
    ///
    /// @throws IllegalStateException before [#init] and after [#shutdown]
    public static Communicator communicator() {
        return running().communicator();
    }

    /// The generation of the job that this process is in.
    ///
    /// @throws IllegalStateException before [#init] and after [#shutdown]
    public static Membership membership() {
        return running().membership();
    }

    private static Rank running() {
        Rank running = rank;
        if (running == null || running.isClosed()) {
            if (exiting) {
                throw new ShutDownException("this rank has left the job: its process is ending");
            }
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

    /// See [Communicator#allocate(Device, DataType, Shape)].
    public static Tensor allocate(Device device, DataType dataType, Shape shape) {
        return communicator().allocate(device, dataType, shape);
    }

    /// See [Communicator#copy].
    public static void copy(Tensor source, Tensor target) {
        communicator().copy(source, target);
    }

    /// See [Communicator#allreduceAsync(String, Tensor, Tensor, AllreduceOptions)].
    public static Handle<Tensor> allreduceAsync(
            String name, Tensor input, Tensor output, AllreduceOptions options) {
        return communicator().allreduceAsync(name, input, output, options);
    }

    /// See [Communicator#allreduceAsync(String, Tensor, AllreduceOptions)].
    public static Handle<Tensor> allreduceAsync(
            String name, Tensor tensor, AllreduceOptions options) {
        return communicator().allreduceAsync(name, tensor, options);
    }

    /// See [Communicator#allreduceAsync(String, Tensor, ReduceOp)].
    public static Handle<Tensor> allreduceAsync(String name, Tensor tensor, ReduceOp op) {
        return communicator().allreduceAsync(name, tensor, op);
    }

    /// See [Communicator#allreduce(String, Tensor, Tensor, AllreduceOptions)].
    public static Tensor allreduce(
            String name, Tensor input, Tensor output, AllreduceOptions options) {
        return communicator().allreduce(name, input, output, options);
    }

    /// See [Communicator#allreduce(String, Tensor, AllreduceOptions)].
    public static Tensor allreduce(String name, Tensor tensor, AllreduceOptions options) {
        return communicator().allreduce(name, tensor, options);
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

    /// See [Communicator#allreduce(String, int[], ReduceOp)].
    public static void allreduce(String name, int[] values, ReduceOp op) {
        communicator().allreduce(name, values, op);
    }

    /// See [Communicator#allreduce(String, long[], ReduceOp)].
    public static void allreduce(String name, long[] values, ReduceOp op) {
        communicator().allreduce(name, values, op);
    }

    /// See [Communicator#allreduce(String, byte[], ReduceOp)].
    public static void allreduce(String name, byte[] values, ReduceOp op) {
        communicator().allreduce(name, values, op);
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

    /// See [Communicator#groupedAllreduceAsync(String, List, AllreduceOptions)].
    public static Handle<List<Tensor>> groupedAllreduceAsync(
            String name, List<Tensor> tensors, AllreduceOptions options) {
        return communicator().groupedAllreduceAsync(name, tensors, options);
    }

    /// See [Communicator#groupedAllreduceAsync(String, List, ReduceOp)].
    public static Handle<List<Tensor>> groupedAllreduceAsync(
            String name, List<Tensor> tensors, ReduceOp op) {
        return communicator().groupedAllreduceAsync(name, tensors, op);
    }

    /// See [Communicator#groupedAllreduce(String, List, AllreduceOptions)].
    public static List<Tensor> groupedAllreduce(
            String name, List<Tensor> tensors, AllreduceOptions options) {
        return communicator().groupedAllreduce(name, tensors, options);
    }

    /// See [Communicator#groupedAllreduce(String, List, ReduceOp)].
    public static List<Tensor> groupedAllreduce(String name, List<Tensor> tensors, ReduceOp op) {
        return communicator().groupedAllreduce(name, tensors, op);
    }

    /// See [Communicator#allgatherAsync].
    public static Handle<Tensor> allgatherAsync(String name, Tensor tensor) {
        return communicator().allgatherAsync(name, tensor);
    }

    /// See [Communicator#allgather(String, Tensor)].
    public static Tensor allgather(String name, Tensor tensor) {
        return communicator().allgather(name, tensor);
    }

    /// See [Communicator#allgather(String, float[])].
    public static float[] allgather(String name, float[] values) {
        return communicator().allgather(name, values);
    }

    /// See [Communicator#allgather(String, double[])].
    public static double[] allgather(String name, double[] values) {
        return communicator().allgather(name, values);
    }

    /// See [Communicator#allgather(String, int[])].
    public static int[] allgather(String name, int[] values) {
        return communicator().allgather(name, values);
    }

    /// See [Communicator#allgather(String, long[])].
    public static long[] allgather(String name, long[] values) {
        return communicator().allgather(name, values);
    }

    /// See [Communicator#allgather(String, byte[])].
    public static byte[] allgather(String name, byte[] values) {
        return communicator().allgather(name, values);
    }

    /// See [Communicator#groupedAllgatherAsync].
    public static Handle<List<Tensor>> groupedAllgatherAsync(String name, List<Tensor> tensors) {
        return communicator().groupedAllgatherAsync(name, tensors);
    }

    /// See [Communicator#groupedAllgather].
    public static List<Tensor> groupedAllgather(String name, List<Tensor> tensors) {
        return communicator().groupedAllgather(name, tensors);
    }

    /// See [Communicator#broadcastAsync].
    public static Handle<Tensor> broadcastAsync(String name, Tensor tensor, int rootRank) {
        return communicator().broadcastAsync(name, tensor, rootRank);
    }

    /// See [Communicator#broadcast(String, Tensor, int)].
    public static Tensor broadcast(String name, Tensor tensor, int rootRank) {
        return communicator().broadcast(name, tensor, rootRank);
    }

    /// See [Communicator#broadcast(String, float[], int)].
    public static void broadcast(String name, float[] values, int rootRank) {
        communicator().broadcast(name, values, rootRank);
    }

    /// See [Communicator#broadcast(String, double[], int)].
    public static void broadcast(String name, double[] values, int rootRank) {
        communicator().broadcast(name, values, rootRank);
    }

    /// See [Communicator#broadcast(String, int[], int)].
    public static void broadcast(String name, int[] values, int rootRank) {
        communicator().broadcast(name, values, rootRank);
    }

    /// See [Communicator#broadcast(String, long[], int)].
    public static void broadcast(String name, long[] values, int rootRank) {
        communicator().broadcast(name, values, rootRank);
    }

    /// See [Communicator#broadcast(String, byte[], int)].
    public static void broadcast(String name, byte[] values, int rootRank) {
        communicator().broadcast(name, values, rootRank);
    }

    /// See [Communicator#alltoallAsync].
    public static Handle<AlltoallResult> alltoallAsync(
            String name, Tensor tensor, AlltoallOptions options) {
        return communicator().alltoallAsync(name, tensor, options);
    }

    /// See [Communicator#alltoall(String, Tensor, AlltoallOptions)].
    public static AlltoallResult alltoall(String name, Tensor tensor, AlltoallOptions options) {
        return communicator().alltoall(name, tensor, options);
    }

    /// See [Communicator#alltoall(String, Tensor)].
    public static Tensor alltoall(String name, Tensor tensor) {
        return communicator().alltoall(name, tensor);
    }

    /// See [Communicator#reducescatterAsync(String, Tensor, ReducescatterOptions)].
    public static Handle<Tensor> reducescatterAsync(
            String name, Tensor tensor, ReducescatterOptions options) {
        return communicator().reducescatterAsync(name, tensor, options);
    }

    /// See [Communicator#reducescatterAsync(String, Tensor, ReduceOp)].
    public static Handle<Tensor> reducescatterAsync(String name, Tensor tensor, ReduceOp op) {
        return communicator().reducescatterAsync(name, tensor, op);
    }

    /// See [Communicator#reducescatter(String, Tensor, ReducescatterOptions)].
    public static Tensor reducescatter(String name, Tensor tensor, ReducescatterOptions options) {
        return communicator().reducescatter(name, tensor, options);
    }

    /// See [Communicator#reducescatter(String, Tensor, ReduceOp)].
    public static Tensor reducescatter(String name, Tensor tensor, ReduceOp op) {
        return communicator().reducescatter(name, tensor, op);
    }

    /// See [Communicator#groupedReducescatterAsync(String, List, ReducescatterOptions)].
    public static Handle<List<Tensor>> groupedReducescatterAsync(
            String name, List<Tensor> tensors, ReducescatterOptions options) {
        return communicator().groupedReducescatterAsync(name, tensors, options);
    }

    /// See [Communicator#groupedReducescatterAsync(String, List, ReduceOp)].
    public static Handle<List<Tensor>> groupedReducescatterAsync(
            String name, List<Tensor> tensors, ReduceOp op) {
        return communicator().groupedReducescatterAsync(name, tensors, op);
    }

    /// See [Communicator#groupedReducescatter(String, List, ReducescatterOptions)].
    public static List<Tensor> groupedReducescatter(
            String name, List<Tensor> tensors, ReducescatterOptions options) {
        return communicator().groupedReducescatter(name, tensors, options);
    }

    /// See [Communicator#groupedReducescatter(String, List, ReduceOp)].
    public static List<Tensor> groupedReducescatter(
            String name, List<Tensor> tensors, ReduceOp op) {
        return communicator().groupedReducescatter(name, tensors, op);
    }

    /// See [Communicator#barrier].
    public static void barrier() {
        communicator().barrier();
    }

    /// See [Communicator#join()].
    public static int join() {
        return communicator().join();
    }

    /// See [Communicator#failStep].
    public static void failStep(String reason) {
        communicator().failStep(reason);
    }

    /// See [Communicator#processSet].
    public static ProcessSet processSet() {
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
