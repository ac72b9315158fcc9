package org.horovod4j.tensorflow;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.Communicator;
import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.ReducescatterOptions;
import org.horovod4j.tensorflow.kernel.Node;
import org.horovod4j.tensorflow.kernel.OpKernels;
import org.horovod4j.tensorflow.kernel.OpType;
import org.horovod4j.tensorflow.kernel.TensorTypes;
import org.horovod4j.training.CommunicatorProvider;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.proto.DataType;
import org.tensorflow.types.TBool;
import org.tensorflow.types.TInt32;
import org.tensorflow.types.TInt64;
import org.tensorflow.types.family.TNumber;
import org.tensorflow.types.family.TType;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/// Collectives as ops of a graph, beside TensorFlow's own [Ops].
///
/// ```java
/// Ops tf = Ops.create(graph);
/// HvdOps hvd = HvdOps.create(tf);
/// Operand<TFloat32> mean = hvd.allreduce(loss, ReduceOp.AVERAGE);
/// session.runner().fetch(mean).run(); // on all ranks
/// ```
///
/// **Names.** The name of a node in the graph is the name of its collective. It comes from the scope,
/// so `hvd.withName("mean_loss")` gives a better one. All ranks must build the same graph, and run
/// the same nodes.
///
/// **Runs.** A node submits its collective as soon as its inputs are computed. Asynchronous kernels
/// block no thread of TensorFlow, blocking kernels one for each collective that TensorFlow waits for.
/// A failure, such as ranks with different shapes, ends `run()` with a `TensorFlowException` that
/// contains the message; the session can be used again. A process must not run a node twice at the
/// same time.
///
/// **Gradients.** All ops but [#sparseAllreduce], [#barrier], [#join] and those of ranks and sizes have
/// gradients, so a loss may contain them. An allreduce has one if it sums or averages.
public final class HvdOps {
    private final Ops tf;
    private final RankGroup ranks;

    /// Whether shapes may be read. TensorFlow holds the lock of the graph while it adds gradients.
    private final boolean isGraphUnlocked;

    private HvdOps(Ops tf, RankGroup ranks, boolean isGraphUnlocked) {
        this.tf = tf;
        this.ranks = ranks;
        this.isGraphUnlocked = isGraphUnlocked;
        OpKernels.register(ranks.settings().tensorFlowKernels());
        CollectiveGradients.register();
    }

    /// Ops among all ranks of the job, with the communicator that `Hvd` has when a session runs them.
    public static HvdOps create(Ops tf) {
        return new HvdOps(tf, RankGroup.ALL, true);
    }

    /// Ops among the ranks of a communicator, for programs that do not use `Hvd`.
    public static HvdOps create(Ops tf, Communicator communicator) {
        return new HvdOps(
                tf, new RankGroup(new CommunicatorProvider(communicator), Optional.empty()), true);
    }

    static HvdOps create(Ops tf, RankGroup ranks) {
        return new HvdOps(tf, ranks, true);
    }

    /// Ops for a function that TensorFlow calls to add gradients.
    static HvdOps inGradient(Ops tf, RankGroup ranks) {
        return new HvdOps(tf, ranks, false);
    }

    /// Ops among the ranks of `set`, of which this process must be one. Rank numbers are then those
    /// of the set.
    public HvdOps in(ProcessSet set) {
        return new HvdOps(tf, ranks.in(set), isGraphUnlocked);
    }

    /// Gives the next op this name.
    public HvdOps withName(String name) {
        return new HvdOps(tf.withName(name), ranks, isGraphUnlocked);
    }

    /// Ops that run after `controls`.
    public HvdOps withControlDependencies(Iterable<Op> controls) {
        return new HvdOps(tf.withControlDependencies(controls), ranks, isGraphUnlocked);
    }

    /// Reduces a tensor over all ranks, in place if nothing else uses it. All ranks have the same
    /// type and shape.
    public <T extends TType> Output<T> allreduce(Operand<T> input, AllreduceOptions options) {
        return groupedAllreduce(List.of(input), options).getFirst();
    }

    /// Reduces a tensor over all ranks.
    public <T extends TType> Output<T> allreduce(Operand<T> input, ReduceOp op) {
        return allreduce(input, AllreduceOptions.of(op));
    }

    /// Reduces several tensors over all ranks as one group, when all of them are there.
    public <T extends TType> List<Output<T>> groupedAllreduce(
            List<? extends Operand<T>> inputs, AllreduceOptions options) {
        return typed(allreduceNode(inputs, options).add());
    }

    Node allreduceNode(List<? extends Operand<?>> inputs, AllreduceOptions options) {
        RankGroup group = options.processSet().map(ranks::in).orElse(ranks);
        return node(
                OpType.ALLREDUCE,
                inputs,
                inputs.stream().map(HvdOps::type).toList(),
                new CollectiveFunction.Allreduce(group, options.withoutProcessSet()));
    }

    /// Reduces several tensors over all ranks as one group.
    public <T extends TType> List<Output<T>> groupedAllreduce(
            List<? extends Operand<T>> inputs, ReduceOp op) {
        return groupedAllreduce(inputs, AllreduceOptions.of(op));
    }

    /// Sums or averages a tensor with many rows of zeros, such as the gradient of a table of
    /// embeddings: only the other rows travel. If they are many, the whole tensor is reduced. See
    /// [Communicator#sparseAllreduce].
    ///
    /// @param op AVERAGE or SUM
    public <T extends TNumber> Output<T> sparseAllreduce(Operand<T> input, ReduceOp op) {
        checkRows("sparseAllreduce", input);
        return typed(sparseAllreduceNode(input, op).add().getFirst());
    }

    <T extends TNumber> Node sparseAllreduceNode(Operand<T> input, ReduceOp op) {
        Ops inner = Ops.create((Graph) tf.scope().env()).withSubScope("rows");
        Operand<T> zero = inner.dtypes.cast(inner.constant(0), input.asOutput().type());
        // rows as vectors, whatever the number of dimensions
        Operand<TInt32> flat =
                inner.stack(
                        List.of(
                                inner.gather(
                                        inner.shape(input), inner.constant(0), inner.constant(0)),
                                inner.constant(-1)));
        Operand<TBool> isNotZero = inner.math.notEqual(inner.reshape(input, flat), zero);
        Operand<TInt64> rows =
                inner.reshape(
                        inner.where(inner.reduceAny(isNotZero, inner.constant(1))),
                        inner.constant(new int[] {-1}));
        return node(
                OpType.SPARSE_ALLREDUCE,
                List.of(input, rows, inner.gather(input, rows, inner.constant(0))),
                List.of(type(input)),
                new CollectiveFunction.SparseAllreduce(ranks, op));
    }

    /// Joins the tensors of all ranks along the first dimension, in the order of ranks. First
    /// dimensions may differ, the others may not.
    public <T extends TType> Output<T> allgather(Operand<T> input) {
        checkRows("allgather", input);
        return sameType(OpType.ALLGATHER, input, new CollectiveFunction.Allgather(ranks));
    }

    /// The tensor of `rootRank`. All ranks pass a tensor of the same type and shape.
    public <T extends TType> Output<T> broadcast(Operand<T> input, int rootRank) {
        return sameType(OpType.BROADCAST, input, new CollectiveFunction.Broadcast(ranks, rootRank));
    }

    /// An op that overwrites all variables of the graph with those of `rootRank`. Call it when the
    /// graph has all its variables, those of optimizers included, and run it after the variables are
    /// initialised. It fails on all ranks if a rank has other variables than the root.
    ///
    /// @throws IllegalArgumentException when the graph has no variables
    public Op broadcastGlobalVariables(int rootRank) {
        return broadcastVariables(Variables.of((Graph) tf.scope().env()), rootRank);
    }

    /// An op that overwrites these variables with those of `rootRank`.
    public Op broadcastVariables(List<? extends Output<?>> variables, int rootRank) {
        if (variables.isEmpty()) {
            throw new IllegalArgumentException(
                    "there are no variables: broadcast them after the graph is built");
        }
        List<String> names = variables.stream().map(each -> each.op().name()).toList();
        List<Output<?>> values =
                new Node(
                                tf.scope(),
                                OpType.BROADCAST,
                                "broadcast_variables",
                                variables,
                                variables.stream().map(HvdOps::type).toList(),
                                new CollectiveFunction.BroadcastAll(ranks, names, rootRank))
                        .add();
        List<Op> assigned = new ArrayList<>();
        for (int i = 0; i < variables.size(); i++) {
            assigned.add(assign(variables.get(i), values.get(i)));
        }
        return tf.withControlDependencies(assigned).noOp();
    }

    @SuppressWarnings("unchecked") // both have the type of the variable
    private Op assign(Output<?> variable, Output<?> value) {
        return tf.assign((Output<TType>) variable, (Output<TType>) value);
    }

    /// Sends rows to each rank: the first `splits[0]` rows to rank 0, and so on.
    public <T extends TType> AlltoallOutputs<T> alltoall(Operand<T> input, Operand<TInt32> splits) {
        checkRows("alltoall", input);
        List<Output<?>> outputs =
                node(
                                OpType.ALLTOALL,
                                List.of(input, splits),
                                List.of(type(input), DataType.DT_INT32),
                                new CollectiveFunction.Alltoall(ranks))
                        .add();
        return new AlltoallOutputs<>(typed(outputs.get(0)), typed(outputs.get(1)));
    }

    /// Sends the same number of rows to each rank.
    public <T extends TType> Output<T> alltoall(Operand<T> input) {
        return alltoall(input, tf.constant(new int[0])).output();
    }

    /// The results of an alltoall.
    ///
    /// @param output the rows from all ranks, in the order of ranks
    /// @param receivedSplits how many rows came from each rank
    public record AlltoallOutputs<T extends TType>(
            Output<T> output, Output<TInt32> receivedSplits) {}

    /// Reduces a tensor over all ranks and returns to each its part of the rows. The first ranks get
    /// one row more if rows do not divide evenly.
    public <T extends TType> Output<T> reducescatter(
            Operand<T> input, ReducescatterOptions options) {
        checkRows("reducescatter", input);
        RankGroup group = options.processSet().map(ranks::in).orElse(ranks);
        return sameType(
                OpType.REDUCESCATTER,
                input,
                new CollectiveFunction.Reducescatter(group, options.withoutProcessSet()));
    }

    /// Reduces a tensor as [#reducescatter(Operand, ReducescatterOptions)] does. `op` is AVERAGE or
    /// SUM.
    public <T extends TType> Output<T> reducescatter(Operand<T> input, ReduceOp op) {
        return reducescatter(input, ReducescatterOptions.of(op));
    }

    /// An op that ends when all ranks run it.
    public Op barrier() {
        return scalar("barrier", new CollectiveFunction.Barrier(ranks));
    }

    /// Declares that this rank has no more data, as [Communicator#join] does. The result is the last
    /// rank that joined.
    public Output<TInt32> join() {
        return scalar("join", new CollectiveFunction.Join(ranks));
    }

    /// The rank of this process when a session runs the op.
    public Output<TInt32> rank() {
        return property("rank", CollectiveFunction.Property.Kind.RANK);
    }

    /// The number of ranks when a session runs the op.
    public Output<TInt32> size() {
        return property("size", CollectiveFunction.Property.Kind.SIZE);
    }

    /// The number of this process on its host when a session runs the op.
    public Output<TInt32> localRank() {
        return property("local_rank", CollectiveFunction.Property.Kind.LOCAL_RANK);
    }

    /// The number of processes on this host when a session runs the op.
    public Output<TInt32> localSize() {
        return property("local_size", CollectiveFunction.Property.Kind.LOCAL_SIZE);
    }

    private Output<TInt32> property(String name, CollectiveFunction.Property.Kind kind) {
        return scalar(name, new CollectiveFunction.Property(ranks, kind));
    }

    private Output<TInt32> scalar(String name, CollectiveFunction function) {
        return typed(
                new Node(
                                tf.scope(),
                                OpType.SCALAR,
                                name,
                                List.of(),
                                List.of(DataType.DT_INT32),
                                function)
                        .add()
                        .getFirst());
    }

    /// Adds a node with one input, whose output has the same type.
    private <T extends TType> Output<T> sameType(
            OpType type, Operand<T> input, CollectiveFunction function) {
        return typed(node(type, List.of(input), List.of(type(input)), function).add().getFirst());
    }

    /// The type of an output is that of its input.
    @SuppressWarnings("unchecked")
    static <T extends TType> Output<T> typed(Output<?> output) {
        return (Output<T>) output;
    }

    private static <T extends TType> List<Output<T>> typed(List<Output<?>> outputs) {
        return outputs.stream().map(HvdOps::<T>typed).toList();
    }

    private Node node(
            OpType type,
            List<? extends Operand<?>> inputs,
            List<DataType> outputs,
            CollectiveFunction function) {
        if (inputs.isEmpty()) {
            throw new IllegalArgumentException("a group needs at least one tensor");
        }
        inputs.forEach(HvdOps::checkType);
        return new Node(tf.scope(), type, type.typeName(), inputs, outputs, function);
    }

    private static DataType type(Operand<?> input) {
        return TensorTypes.ofValue(input.asOutput().dataType());
    }

    private static void checkType(Operand<?> input) {
        if (TensorTypes.fromTensorFlow(type(input)).isEmpty()) {
            throw new IllegalArgumentException(
                    "'%s' has type %s, which collectives do not support: convert it first, for example with tf.dtypes.cast"
                            .formatted(input.op().name(), type(input)));
        }
    }

    private void checkRows(String collective, Operand<?> input) {
        if (isGraphUnlocked && input.shape().numDimensions() == 0) {
            throw new IllegalArgumentException(
                    "%s of '%s': a scalar has no rows; use tf.expandDims or tf.reshape first"
                            .formatted(collective, input.op().name()));
        }
    }
}
