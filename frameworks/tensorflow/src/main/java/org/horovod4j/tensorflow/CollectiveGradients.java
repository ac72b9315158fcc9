package org.horovod4j.tensorflow;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.ReduceOp;
import org.horovod4j.ReducescatterOptions;
import org.horovod4j.tensorflow.kernel.Node;
import org.horovod4j.tensorflow.kernel.OpType;
import org.tensorflow.GraphOperation;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.TensorFlow;
import org.tensorflow.internal.c_api.TFJ_GradFuncAdapter;
import org.tensorflow.internal.c_api.global.tensorflow;
import org.tensorflow.op.Ops;
import org.tensorflow.op.RawCustomGradient;
import org.tensorflow.op.core.Stack;
import org.tensorflow.types.TInt32;
import org.tensorflow.types.family.TNumber;
import org.tensorflow.types.family.TType;

import java.util.ArrayList;
import java.util.List;

/// The gradients of our ops, which are collectives again, as in Horovod. TensorFlow calls them while
/// it adds gradients to a graph, and holds the lock of the graph meanwhile: what reads a shape from
/// the graph would wait forever.
final class CollectiveGradients {
    private static final List<OpType> DIFFERENTIABLE =
            List.of(
                    OpType.ALLREDUCE,
                    OpType.BROADCAST,
                    OpType.ALLGATHER,
                    OpType.REDUCESCATTER,
                    OpType.ALLTOALL);

    private CollectiveGradients() {}

    /// Registers all gradients in TensorFlow, once per process.
    static void register() {
        Registered.ensure();
    }

    /// The class is initialised once, also if several threads build graphs.
    ///
    /// All types share one adapter, which must stay reachable: TensorFlow Java can create ten in a
    /// process, and a program may need some for gradients of its own.
    private static final class Registered {
        private static final TFJ_GradFuncAdapter ADAPTER =
                RawCustomGradient.adapter(CollectiveGradients::inputGradients);

        static {
            TensorFlow.version(); // loads the library
            for (OpType type : DIFFERENTIABLE) {
                for (String name : List.of(type.typeName(), type.startName(), type.waitName())) {
                    tensorflow.TFJ_RegisterCustomGradient(name, ADAPTER);
                }
            }
        }

        static void ensure() {}
    }

    /// The gradients of the inputs of a node.
    ///
    /// @param gradients of its outputs
    private static List<Operand<?>> inputGradients(
            Ops tf, GraphOperation node, List<Output<?>> gradients) {
        if (DIFFERENTIABLE.stream().anyMatch(type -> type.startName().equals(node.type()))) {
            return zeros(tf, node);
        }
        List<Operand<TNumber>> known = new ArrayList<>();
        for (int i = 0; i < gradients.size(); i++) {
            known.add(orZeros(tf, gradients.get(i), node.output(i)));
        }
        CollectiveFunction function = (CollectiveFunction) Node.function(node);
        HvdOps hvd = HvdOps.inGradient(tf, function.ranks());
        List<Operand<?>> results = new ArrayList<>();
        switch (function) {
            case CollectiveFunction.Allreduce(_, AllreduceOptions options) -> {
                checkLinear(node, options.op());
                results.addAll(hvd.groupedAllreduce(known, options));
            }
            case CollectiveFunction.Broadcast(_, int rootRank) ->
                    results.add(broadcast(tf, hvd, known.getFirst(), rootRank));
            case CollectiveFunction.Allgather _ ->
                    results.add(allgather(tf, hvd, node.input(0), known.getFirst()));
            case CollectiveFunction.Reducescatter(_, ReducescatterOptions options) ->
                    results.add(reducescatter(tf, hvd, known.getFirst(), options));
            case CollectiveFunction.Alltoall _ -> {
                results.add(alltoall(tf, hvd, node, known.getFirst()));
                results.add(tf.zerosLike(node.input(1)));
            }
            case CollectiveFunction.SparseAllreduce _,
                    CollectiveFunction.BroadcastAll _,
                    CollectiveFunction.Barrier _,
                    CollectiveFunction.Join _,
                    CollectiveFunction.Property _ ->
                    throw new IllegalStateException("'%s' has no gradient".formatted(node.name()));
        }
        if (results.size() < node.numInputs()) {
            results.add(tf.zerosLike(node.input(results.size()))); // the handle of a run
        }
        return results;
    }

    /// The node that waits for a collective returns the gradients of the node that submits it.
    private static List<Operand<?>> zeros(Ops tf, GraphOperation node) {
        List<Operand<?>> zeros = new ArrayList<>();
        for (int i = 0; i < node.numInputs(); i++) {
            zeros.add(tf.zerosLike(node.input(i)));
        }
        return zeros;
    }

    /// An output that the loss does not depend on has no gradient.
    @SuppressWarnings("unchecked") // a gradient has the type of its tensor
    private static Operand<TNumber> orZeros(Ops tf, Output<?> gradient, Output<?> output) {
        return (Operand<TNumber>)
                (LossGradients.exists(gradient) ? gradient : tf.zerosLike(output));
    }

    /// The gradient of a sum is the sum of gradients. Other reductions have no such simple gradient.
    private static void checkLinear(GraphOperation node, ReduceOp op) {
        switch (op) {
            case AVERAGE, SUM -> {}
            case MIN, MAX, PRODUCT, ADASUM ->
                    throw new IllegalArgumentException(
                            """
                            allreduce of '%s': %s has no gradient that can be reduced
                            Use AVERAGE or SUM, or keep the op out of the loss (tf.stopGradient)."""
                                    .formatted(node.name(), op));
        }
    }

    private static Operand<?> broadcast(
            Ops tf, HvdOps hvd, Operand<TNumber> gradient, int rootRank) {
        Operand<TNumber> sum = hvd.allreduce(gradient, ReduceOp.SUM);
        return tf.select(tf.math.equal(hvd.rank(), tf.constant(rootRank)), sum, tf.zerosLike(sum));
    }

    /// The rows of this rank. Each rank gives its rank and its number of rows, since a rank that has
    /// joined gives no row.
    private static Operand<?> allgather(
            Ops tf, HvdOps hvd, Operand<?> input, Operand<TNumber> gradient) {
        Operand<TInt32> rank = hvd.rank();
        Operand<TInt32> rows = tf.gather(shape(tf, input), tf.constant(0), tf.constant(0));
        Operand<TInt32> own = tf.expandDims(tf.stack(List.of(rank, rows)), tf.constant(0));
        Operand<TInt32> all = hvd.withName("rows").allgather(own);
        Operand<TInt32> ranks = tf.gather(all, tf.constant(0), tf.constant(1));
        Operand<TInt32> counts = tf.gather(all, tf.constant(1), tf.constant(1));
        Operand<TInt32> before =
                tf.reduceSum(
                        tf.select(tf.math.less(ranks, rank), counts, tf.zerosLike(counts)),
                        tf.constant(0));
        return tf.gather(
                hvd.allreduce(gradient, ReduceOp.SUM),
                tf.range(before, tf.math.add(before, rows), tf.constant(1)),
                tf.constant(0));
    }

    /// As Horovod does, the gradient of a sum is multiplied by the number of ranks.
    private static Operand<?> reducescatter(
            Ops tf, HvdOps hvd, Operand<TNumber> gradient, ReducescatterOptions options) {
        double scale = options.scale().prescale() * options.scale().postscale();
        Operand<TNumber> scaled =
                scale == 1.0
                        ? gradient
                        : tf.math.mul(
                                gradient, tf.dtypes.cast(tf.constant(scale), gradient.type()));
        Operand<TNumber> counted =
                options.op() == ReduceOp.SUM
                        ? tf.math.mul(scaled, tf.dtypes.cast(hvd.size(), gradient.type()))
                        : scaled;
        return hvd.allgather(counted);
    }

    /// Sends the rows back. Rows after the last split were not sent, and have gradient 0.
    private static Operand<?> alltoall(
            Ops tf, HvdOps hvd, GraphOperation node, Operand<TNumber> gradient) {
        Output<TInt32> received = node.output(1);
        Operand<TNumber> back = hvd.alltoall(gradient, received).output();
        Operand<TInt32> missing = tf.math.sub(shape(tf, node.input(0)), shape(tf, back));
        Operand<TInt32> paddings =
                tf.stack(List.of(tf.zerosLike(missing), missing), Stack.axis(1L));
        return tf.pad(back, paddings, tf.dtypes.cast(tf.constant(0), back.type()));
    }

    @SuppressWarnings("unchecked") // any tensor has a shape
    private static Operand<TInt32> shape(Ops tf, Operand<?> tensor) {
        return tf.shape((Operand<TType>) tensor);
    }
}
