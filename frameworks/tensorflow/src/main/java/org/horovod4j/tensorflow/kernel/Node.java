package org.horovod4j.tensorflow.kernel;

import org.tensorflow.GraphOperation;
import org.tensorflow.Operand;
import org.tensorflow.Operation;
import org.tensorflow.OperationBuilder;
import org.tensorflow.Output;
import org.tensorflow.op.Scope;
import org.tensorflow.proto.DataType;

import java.util.List;

/// Adds nodes of our ops to a graph, and reads their functions back.
public final class Node {
    static final String INPUT_TYPES = "Tin";
    static final String OUTPUT_TYPES = "Tout";
    static final String FUNCTION = "function";
    static final String DESCRIPTION = "description";
    static final String TENSOR_NAME = "tensor_name";

    private Node() {}

    /// Adds a node. Its name, from the scope, is the name of its collective.
    ///
    /// @param defaultName of the node, if the scope has none
    /// @param function what the node does
    /// @throws UnsupportedOperationException when our ops cannot be registered in this process
    public static Operation add(
            Scope scope,
            OpType type,
            String defaultName,
            List<? extends Operand<?>> inputs,
            List<DataType> outputs,
            NodeFunction function) {
        OpKernels kernels = OpKernels.get();
        String name = scope.makeOpName(defaultName);
        OperationBuilder builder = scope.env().opBuilder(type.typeName(), name, scope);
        builder.addInputList(inputs.stream().map(Operand::asOutput).toArray(Output<?>[]::new));
        builder.setAttr(OUTPUT_TYPES, outputs.toArray(DataType[]::new));
        builder.setAttr(FUNCTION, kernels.number(function));
        builder.setAttr(DESCRIPTION, function.toString());
        builder.setAttr(TENSOR_NAME, name);
        return builder.build();
    }

    /// The function of a node.
    public static NodeFunction function(GraphOperation node) {
        return OpKernels.get().function(node.attributes().getAttrInt(FUNCTION));
    }
}
