package org.horovod4j.tensorflow;

import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.HorovodException;
import org.horovod4j.Hvd;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.option.FrameworkSettings;
import org.horovod4j.tensorflow.kernel.Failures;
import org.horovod4j.tensorflow.kernel.OpKernels;
import org.horovod4j.tensorflow.kernel.TensorTypes;
import org.tensorflow.Graph;
import org.tensorflow.Session;
import org.tensorflow.exceptions.TensorFlowException;
import org.tensorflow.framework.optimizers.Optimizer;
import org.tensorflow.ndarray.buffer.DataStorageVisitor;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.proto.ConfigProto;
import org.tensorflow.proto.GPUOptions;
import org.tensorflow.types.family.TType;

import java.lang.foreign.MemorySegment;
import java.util.Optional;
import java.util.function.Consumer;

/// Horovod4J for a TensorFlow Java program: one-line methods over [Hvd].
///
/// ```java
/// Hvd.init();
/// try (Graph graph = new Graph()) {
///     Ops tf = Ops.create(graph);
///     Operand<TFloat32> loss = network(tf);
///     Optimizer optimizer = HvdTensorFlow.distributed(new Adam(graph, 0.001f * Hvd.size()));
///     Op step = optimizer.minimize(loss);
///     Op broadcast = HvdTensorFlow.broadcastGlobalVariables(graph, 0);
///     try (Session session = new Session(graph, HvdTensorFlow.config())) {
///         session.initialize();
///         session.run(broadcast);
///         // … session.runner().feed(…).addTarget(step).run() for each batch of this rank …
///         if (Hvd.rank() == 0) {
///             session.save("model");
///         }
///     }
/// }
/// ```
///
/// Code that has a [Communicator] uses [HvdOps] and [DistributedOptimizer] directly.
public final class HvdTensorFlow {
    private HvdTensorFlow() {}

    /// The configuration of a session of this rank. It sees the GPU whose number is the local rank, if
    /// TensorFlow has GPUs. The ranks of a host share its processors: each computes with its part of
    /// them, or with the number of threads in `OMP_NUM_THREADS`.
    ///
    /// If collectives block threads, there is one more for each of them, so that others can always start.
    /// Call this when the graph is complete. If the program has several graphs, there are enough threads
    /// for the one with the most collectives.
    ///
    /// TensorFlow takes the number of threads from the first session of a process.
    public static ConfigProto config() {
        return config(Hvd.communicator());
    }

    /// The same for a rank of a communicator, for programs that do not use `Hvd`.
    public static ConfigProto config(Communicator communicator) {
        int share =
                Runtime.getRuntime().availableProcessors() / Math.max(1, communicator.localSize());
        int threads = FrameworkSettings.of(communicator).openMpThreads().orElse(Math.max(1, share));
        int blocked = OpKernels.blockedThreads();
        return ConfigProto.newBuilder()
                .setGpuOptions(
                        GPUOptions.newBuilder()
                                .setVisibleDeviceList(Integer.toString(communicator.localRank())))
                .setIntraOpParallelismThreads(threads)
                .setInterOpParallelismThreads(threads + blocked)
                .setUsePerSessionThreads(blocked > 0) // the first session may need fewer
                .build();
    }

    /// Collectives as ops of the graph of `tf`, among all ranks of the job.
    public static HvdOps ops(Ops tf) {
        return HvdOps.create(tf);
    }

    /// An optimizer that averages gradients over all ranks before `optimizer` applies them.
    public static DistributedOptimizer distributed(Optimizer optimizer) {
        return distributed(optimizer, _ -> {});
    }

    /// The same with options, such as compression, accumulation or groups:
    ///
    /// ```java
    /// HvdTensorFlow.distributed(adam, options -> options.backwardPassesPerStep(4));
    /// ```
    public static DistributedOptimizer distributed(
            Optimizer optimizer, Consumer<DistributedOptimizer.Builder> options) {
        DistributedOptimizer.Builder builder = DistributedOptimizer.wrap(optimizer);
        options.accept(builder);
        return builder.build();
    }

    /// An op that overwrites all variables of the graph with those of `rootRank`. See
    /// [HvdOps#broadcastGlobalVariables].
    public static Op broadcastGlobalVariables(Graph graph, int rootRank) {
        return ops(Ops.create(graph)).broadcastGlobalVariables(rootRank);
    }

    /// The memory of a tensor that a session has returned or is about to get, for the collectives of
    /// [Hvd]: a program may also fetch tensors, reduce them, and feed them.
    ///
    /// ```java
    /// Hvd.allreduce("accuracy", HvdTensorFlow.view(accuracy), ReduceOp.AVERAGE);
    /// ```
    ///
    /// It is valid until the tensor is closed.
    ///
    /// @throws IllegalArgumentException for tensors of strings and other types that collectives do
    ///     not support
    public static Tensor view(TType tensor) {
        DataType type =
                TensorTypes.fromTensorFlow(tensor.dataType())
                        .orElseThrow(
                                () ->
                                        new IllegalArgumentException(
                                                "collectives do not support tensors of type "
                                                        + tensor.dataType()));
        long[] dimensions = tensor.shape().asArray();
        return Tensor.of(
                memory(tensor), type, dimensions.length == 0 ? Shape.SCALAR : Shape.of(dimensions));
    }

    /// The exception of a collective that made `run()` fail, such as a
    /// [org.horovod4j.PeerLostException], of which TensorFlow carries only the message; empty if
    /// another op failed.
    public static Optional<HorovodException> failure(TensorFlowException exception) {
        return Failures.find(String.valueOf(exception.getMessage()), HorovodException.class);
    }

    /// Ends a run that has failed on this rank, on all ranks, so that they can run the graph again. A
    /// program that continues after an exception of `run()` calls this first, whatever has failed:
    ///
    /// ```java
    /// try {
    ///     session.runner().feed(images, batch).addTarget(step).run();
    /// } catch (RuntimeException e) {
    ///     HvdTensorFlow.failStep(session, e);
    ///     session.run(broadcast); // ranks may have made the step or not
    /// }
    /// ```
    ///
    /// The runs of the other ranks fail with the message of `cause`. Returns when all of them have
    /// called this.
    ///
    /// @throws HorovodException when a rank is lost or has left the job
    public static void failStep(Session session, Throwable cause) {
        FailedRun.report(session, cause).await();
    }

    @SuppressWarnings("restricted") // the memory is given by its address
    private static MemorySegment memory(TType tensor) {
        return tensor.asRawTensor()
                .data()
                .accept(
                        new DataStorageVisitor<MemorySegment>() {
                            @Override
                            public MemorySegment visit(long address, long length, long scale) {
                                return MemorySegment.ofAddress(address)
                                        .reinterpret(tensor.numBytes());
                            }

                            @Override
                            public MemorySegment fallback() {
                                throw new IllegalStateException(
                                        "this tensor is not in native memory: " + tensor);
                            }
                        });
    }
}
