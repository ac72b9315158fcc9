package org.horovod4j.benchmarks.runtime;

import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.horovod4j.benchmarks.KnownValues;
import org.horovod4j.tensorflow.HvdOps;
import org.horovod4j.tensorflow.HvdTensorFlow;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Empty;
import org.tensorflow.op.core.Placeholder;
import org.tensorflow.proto.ConfigProto;
import org.tensorflow.proto.GraphOptions;
import org.tensorflow.proto.RewriterConfig;
import org.tensorflow.types.TFloat32;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.LongStream;

/// The gradients of one rank as tensors of a TensorFlow graph, last layer first, and a node for each
/// that sums it over all ranks.
///
/// In a step that is timed, an op allocates each gradient and writes nothing, so that the time is that
/// of the exchange. As in a backward pass, nothing else uses the tensor, and the sum replaces it.
final class GraphGradients implements GradientStep {
    private final Communicator comm;
    private final List<ModelParameter> parameters;
    private final Graph graph = new Graph();
    private final Ops tf = Ops.create(graph);
    private final Op step;
    private final List<Placeholder<TFloat32>> knownValues = new ArrayList<>();
    private final List<Output<TFloat32>> sums = new ArrayList<>();
    private final Session session;

    /// @param isReduced whether nodes reduce gradients, or do nothing with them
    GraphGradients(Communicator comm, List<ModelParameter> parameters, boolean isReduced) {
        this.comm = comm;
        this.parameters = parameters.reversed();
        List<Op> nodes = new ArrayList<>();
        HvdOps hvd = HvdOps.create(tf, comm);
        for (ModelParameter parameter : this.parameters) {
            Shape shape = Shape.of(parameter.shape().toArray());
            Operand<TFloat32> gradient =
                    tf.empty(
                            tf.constant(
                                    LongStream.of(shape.asArray())
                                            .mapToInt(Math::toIntExact)
                                            .toArray()),
                            TFloat32.class,
                            Empty.init(false));
            nodes.add(
                    isReduced
                            ? hvd.withName(parameter.name()).allreduce(gradient, ReduceOp.SUM)
                            : tf.withControlDependencies(List.of(gradient)).noOp());
            Placeholder<TFloat32> known = tf.placeholder(TFloat32.class, Placeholder.shape(shape));
            knownValues.add(known);
            sums.add(hvd.withName("known." + parameter.name()).allreduce(known, ReduceOp.SUM));
        }
        step = tf.withControlDependencies(nodes).noOp();
        session = new Session(graph, config());
    }

    /// Without the passes that would remove nodes without effect.
    private ConfigProto config() {
        return HvdTensorFlow.config(comm).toBuilder()
                .setGraphOptions(
                        GraphOptions.newBuilder()
                                .setRewriteOptions(
                                        RewriterConfig.newBuilder().setDisableMetaOptimizer(true)))
                .build();
    }

    @Override
    public void run() {
        session.run(step);
    }

    /// Sums known values by nodes of the same kind.
    @Override
    public void verify() {
        Session.Runner runner = session.runner();
        List<TFloat32> tensors = new ArrayList<>();
        for (int i = 0; i < parameters.size(); i++) {
            TFloat32 tensor = TFloat32.tensorOf(Shape.of(parameters.get(i).shape().toArray()));
            KnownValues.fill(comm, HvdTensorFlow.view(tensor), i);
            tensors.add(tensor);
            runner.feed(knownValues.get(i), tensor).fetch(sums.get(i));
        }
        try (Result result = runner.run()) {
            for (int i = 0; i < parameters.size(); i++) {
                KnownValues.checkSums(
                        comm,
                        parameters.get(i).name(),
                        HvdTensorFlow.view((TFloat32) result.get(i)),
                        i);
            }
        } finally {
            tensors.forEach(TFloat32::close);
        }
    }
}
