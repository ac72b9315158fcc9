package org.horovod4j.tensorflow.kernel;

import java.util.Arrays;

/// The types of our ops. All have a list of inputs and a list of outputs; what a node does is a
/// [NodeFunction]. The types differ in the shapes of their outputs, and in their gradients.
public enum OpType {
    ALLREDUCE("Horovod4jAllreduce", ShapeRule.SAME),
    SPARSE_ALLREDUCE("Horovod4jSparseAllreduce", ShapeRule.FIRST),
    BROADCAST("Horovod4jBroadcast", ShapeRule.SAME),
    ALLGATHER("Horovod4jAllgather", ShapeRule.OTHER_ROWS),
    REDUCESCATTER("Horovod4jReducescatter", ShapeRule.OTHER_ROWS),
    ALLTOALL("Horovod4jAlltoall", ShapeRule.OTHER_ROWS),
    /// Numbers such as the rank, and operations without tensors.
    SCALAR("Horovod4jScalar", ShapeRule.SCALAR);

    private final String typeName;
    private final ShapeRule shapeRule;

    OpType(String typeName, ShapeRule shapeRule) {
        this.typeName = typeName;
        this.shapeRule = shapeRule;
    }

    /// What is known of the shapes of the outputs while the graph is built.
    enum ShapeRule {
        /// Output i has the shape of input i.
        SAME,
        /// The only output has the shape of the first input.
        FIRST,
        /// Output i has the shape of input i, with another number of rows.
        OTHER_ROWS,
        /// The only output, if there is one, has no dimensions.
        SCALAR
    }

    /// The type in the graph.
    public String typeName() {
        return typeName;
    }

    /// The type of a node that submits the collective.
    public String startName() {
        return typeName + "Start";
    }

    /// The type of a node that waits for the collective and has its outputs.
    public String waitName() {
        return typeName + "Wait";
    }

    /// Whether nodes of this type run, submit or await a collective.
    public static boolean isTypeName(String type) {
        return Arrays.stream(values())
                .anyMatch(
                        each ->
                                type.equals(each.typeName)
                                        || type.equals(each.startName())
                                        || type.equals(each.waitName()));
    }

    ShapeRule shapeRule() {
        return shapeRule;
    }
}
