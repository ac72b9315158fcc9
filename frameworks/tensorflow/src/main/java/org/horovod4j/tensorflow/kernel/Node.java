package org.horovod4j.tensorflow.kernel;

import org.tensorflow.GraphOperation;
import org.tensorflow.Operand;
import org.tensorflow.Operation;
import org.tensorflow.OperationBuilder;
import org.tensorflow.Output;
import org.tensorflow.op.Scope;
import org.tensorflow.proto.DataType;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/// A collective in a graph.
///
/// @param scope gives the name of the node, which is the name of its collective
/// @param type of the op
/// @param defaultName of the node, if the scope has none
/// @param inputs of the node
/// @param outputs the types of its outputs
/// @param function what the node does
public record Node(
        Scope scope,
        OpType type,
        String defaultName,
        List<? extends Operand<?>> inputs,
        List<DataType> outputs,
        NodeFunction function) {
    static final String INPUT_TYPES = "Tin";
    static final String OUTPUT_TYPES = "Tout";
    static final String FUNCTION = "function";
    static final String DESCRIPTION = "description";
    static final String TENSOR_NAME = "tensor_name";

    /// Adds the node and returns its outputs.
    public List<Output<?>> add() {
        return addAll(List.of(this)).getFirst();
    }

    /// Adds nodes whose inputs do not depend on each other. If collectives block threads, all of them
    /// are submitted before TensorFlow waits for the first: otherwise ranks with few threads might
    /// each wait for a collective that another rank has not submitted.
    ///
    /// @return the outputs of each node
    public static List<List<Output<?>>> addAll(List<Node> nodes) {
        OpKernels kernels = OpKernels.get();
        return switch (kernels.choice().mode()) {
            case ASYNC ->
                    nodes.stream()
                            .map(
                                    node ->
                                            node.outputsOf(
                                                    node.builder(
                                                                    kernels,
                                                                    node.type.typeName(),
                                                                    node.newName())
                                                            .build()))
                            .toList();
            case BLOCKING -> addPairs(kernels, nodes);
            case FETCH ->
                    nodes.stream()
                            .map(node -> FetchFeedNode.add(node, kernels.functions()))
                            .toList();
        };
    }

    private static List<List<Output<?>>> addPairs(OpKernels kernels, List<Node> nodes) {
        List<String> names = nodes.stream().map(Node::newName).toList();
        List<Operation> starts = new ArrayList<>();
        for (int i = 0; i < nodes.size(); i++) {
            Node node = nodes.get(i);
            starts.add(node.builder(kernels, node.type.startName(), names.get(i)).build());
        }
        List<List<Output<?>>> added = new ArrayList<>();
        for (int i = 0; i < nodes.size(); i++) {
            Node node = nodes.get(i);
            OperationBuilder builder =
                    node.builder(kernels, node.type.waitName(), names.get(i) + "_wait");
            builder.addInput(starts.get(i).output(0));
            starts.forEach(builder::addControlInput);
            added.add(node.outputsOf(builder.build()));
            kernels.functions().countBlockingNode(node.scope.env());
        }
        return added;
    }

    private List<Output<?>> outputsOf(Operation operation) {
        List<Output<?>> all = new ArrayList<>();
        for (int i = 0; i < outputs.size(); i++) {
            all.add(operation.output(i));
        }
        return all;
    }

    String newName() {
        return scope.makeOpName(defaultName);
    }

    private OperationBuilder builder(OpKernels kernels, String typeName, String name) {
        OperationBuilder builder = scope.env().opBuilder(typeName, name, scope);
        builder.addInputList(inputs.stream().map(Operand::asOutput).toArray(Output<?>[]::new));
        builder.setAttr(OUTPUT_TYPES, outputs.toArray(DataType[]::new));
        builder.setAttr(FUNCTION, kernels.functions().number(scope.env(), function));
        builder.setAttr(DESCRIPTION, function.toString());
        builder.setAttr(TENSOR_NAME, name);
        return builder;
    }

    /// The function of a node; empty for an op that is not part of a collective.
    public static Optional<NodeFunction> functionOf(GraphOperation node) {
        return OpType.isTypeName(node.type())
                ? Optional.of(function(node))
                : FetchFeedNode.of(node).map(FetchFeedNode::function);
    }

    /// The function of a node.
    public static NodeFunction function(GraphOperation node) {
        return OpKernels.get().functions().get(node.attributes().getAttrInt(FUNCTION));
    }
}
