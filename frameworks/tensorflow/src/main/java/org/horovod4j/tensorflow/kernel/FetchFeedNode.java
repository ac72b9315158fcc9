package org.horovod4j.tensorflow.kernel;

import org.horovod4j.Tensor;
import org.horovod4j.option.Options;
import org.tensorflow.ExecutionEnvironment;
import org.tensorflow.GraphOperation;
import org.tensorflow.Operand;
import org.tensorflow.OperationBuilder;
import org.tensorflow.Output;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.proto.DataType;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.function.Supplier;

/// A collective in a graph of a process in which our ops are not registered. Each output is an op of TensorFlow that
/// fails unless its value is fed. Its only consumer is a copy, since TensorFlow runs an op that is fed if
/// there is a control edge from it, and would remove an `Identity`.
///
/// @param name of the collective
/// @param inputs of the collective in the graph, such as `relu:0`
/// @param outputs the names of the ops that are fed
public record FetchFeedNode(
        String name, NodeFunction function, List<String> inputs, List<String> outputs) {
    private static final String COPY = "DeepCopy";

    public FetchFeedNode {
        inputs = List.copyOf(inputs);
        outputs = List.copyOf(outputs);
    }

    /// Adds the ops of a node to its graph.
    ///
    /// @return the outputs
    static List<Output<?>> add(Node node, NodeFunctions functions) {
        ExecutionEnvironment graph = node.scope().env();
        String name = node.newName();
        Ops tf = Ops.create(graph).withSubScope("not_fed");
        Op check = tf.assertThat(tf.constant(false), List.of(tf.constant(notFed(name))));
        List<Output<?>> fed = new ArrayList<>();
        List<Output<?>> outputs = new ArrayList<>();
        for (int i = 0; i < node.outputs().size(); i++) {
            String output = i == 0 ? name : name + "_output" + i;
            fed.add(addFed(node, output + "_fed", i, check));
            outputs.add(
                    graph.opBuilder(COPY, output, node.scope())
                            .addInput(fed.getLast())
                            .build()
                            .output(0));
        }
        functions.add(
                graph,
                new FetchFeedNode(
                        name,
                        node.function(),
                        node.inputs().stream().map(FetchFeedNode::text).toList(),
                        fed.stream().map(output -> output.op().name()).toList()));
        return outputs;
    }

    private static String notFed(String name) {
        return """
        '%s' is a collective, which cannot run inside a graph here (%s): %s. Run the graph with a \
        TrainingSession, an Estimator or a PreparedRun, which fetch the inputs of collectives and feed their \
        results."""
                .formatted(name, Options.TENSORFLOW_KERNELS, OpKernels.get().choice());
    }

    private static String text(Operand<?> input) {
        return input.op().name() + ":" + input.asOutput().index();
    }

    /// An op that depends on the input, but has no gradient, so that TensorFlow does not leave the
    /// collective out of a gradient.
    private static Output<?> addFed(Node node, String name, int index, Op check) {
        if (node.type().shapeRule() == OpType.ShapeRule.SCALAR) {
            return placeholder(node, "Placeholder", name, node.outputs().get(index), Shape.scalar())
                    .addControlInput(check.op())
                    .build()
                    .output(0);
        }
        boolean hasOtherRows = node.type().shapeRule() == OpType.ShapeRule.OTHER_ROWS;
        Output<?> input =
                node.inputs()
                        .get(node.type().shapeRule() == OpType.ShapeRule.FIRST ? 0 : index)
                        .asOutput();
        Output<?> value =
                node.scope()
                        .env()
                        .opBuilder(COPY, hasOtherRows ? name + "_rows" : name, node.scope())
                        .addInput(input)
                        .addControlInput(check.op())
                        .build()
                        .output(0);
        return hasOtherRows
                ? placeholder(
                                node,
                                "PlaceholderWithDefault",
                                name,
                                node.outputs().get(index),
                                withOtherRows(input.shape()))
                        .addInput(value)
                        .build()
                        .output(0)
                : value;
    }

    private static OperationBuilder placeholder(
            Node node, String type, String name, DataType dataType, Shape shape) {
        return node.scope()
                .env()
                .opBuilder(type, name, node.scope())
                .setAttr("dtype", dataType)
                .setAttr("shape", shape);
    }

    private static Shape withOtherRows(Shape shape) {
        if (shape.isUnknown() || shape.numDimensions() == 0) {
            return Shape.unknown();
        }
        long[] dimensions = Arrays.copyOf(shape.asArray(), shape.numDimensions());
        dimensions[0] = Shape.UNKNOWN_SIZE;
        return Shape.of(dimensions);
    }

    /// The collective of which an op is an output.
    public static Optional<FetchFeedNode> of(GraphOperation operation) {
        return OpKernels.ifRegistered()
                .flatMap(
                        kernels ->
                                kernels.functions()
                                        .fetchFeedNode(operation.env(), operation.name()));
    }

    /// Starts the collective.
    ///
    /// @param values of the inputs, which stay valid until the result is there
    /// @return waits for the outputs; throws a [java.util.concurrent.CompletionException] with the
    ///     failure of the collective
    public Supplier<List<Tensor>> start(List<Tensor> values) {
        BufferedExecution execution = new BufferedExecution(values, () -> {});
        try {
            function.start(name, execution);
        } catch (Throwable e) { // collectives that were started before use memory of the caller
            execution.fail(e);
        }
        return execution::await;
    }
}
