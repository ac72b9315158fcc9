package org.horovod4j.tensorflow;

import org.tensorflow.Graph;
import org.tensorflow.Operation;
import org.tensorflow.Output;
import org.tensorflow.framework.optimizers.Optimizer;

import java.util.ArrayList;
import java.util.List;

/// The variables of a graph.
public final class Variables {
    private Variables() {}

    /// The variables that `tf.variable` has added, with those of optimizers.
    public static List<Output<?>> of(Graph graph) {
        List<Output<?>> variables = new ArrayList<>();
        graph.operations()
                .forEachRemaining(
                        (Operation node) -> {
                            if (node.type().equals(Optimizer.VARIABLE_V2)) {
                                variables.add(node.output(0));
                            }
                        });
        return variables;
    }
}
