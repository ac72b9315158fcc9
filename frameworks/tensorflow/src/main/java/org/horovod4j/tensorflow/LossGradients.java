package org.horovod4j.tensorflow;

import org.tensorflow.Graph;
import org.tensorflow.GraphOperation;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.framework.optimizers.Optimizer;
import org.tensorflow.framework.optimizers.Optimizer.GradAndVar;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/// Adds the gradients of a loss to its graph.
///
/// TensorFlow Java asks for the gradients of all variables of a graph, and fails if the loss does not
/// depend on one of them, such as a counter or a running mean. This class leaves these out.
final class LossGradients {
    private LossGradients() {}

    /// @param optimizer asked for gradients if it has a method of its own for that
    static List<GradAndVar<?>> of(Graph graph, Optimizer optimizer, Operand<?> loss) {
        return hasOwnGradients(optimizer)
                ? optimizer.computeGradients(loss)
                : addGradients(graph, loss.asOutput());
    }

    private static boolean hasOwnGradients(Optimizer optimizer) {
        try {
            return optimizer
                            .getClass()
                            .getMethod("computeGradients", Operand.class)
                            .getDeclaringClass()
                    != Optimizer.class;
        } catch (NoSuchMethodException e) {
            throw new IllegalStateException(e); // it is public
        }
    }

    private static List<GradAndVar<?>> addGradients(Graph graph, Output<?> loss) {
        Set<String> used = inputsOf((GraphOperation) loss.op());
        List<Output<?>> variables =
                Variables.of(graph).stream()
                        .filter(variable -> used.contains(variable.op().name()))
                        .toList();
        if (variables.isEmpty()) {
            return List.of();
        }
        Output<?>[] gradients = graph.addGradients(loss, variables.toArray(Output<?>[]::new));
        List<GradAndVar<?>> pairs = new ArrayList<>();
        for (int i = 0; i < gradients.length; i++) {
            if (exists(gradients[i])) {
                pairs.add(pair(gradients[i], variables.get(i)));
            }
        }
        return pairs;
    }

    /// Whether there is a gradient: TensorFlow returns none if all ways to the loss stop it.
    static boolean exists(Output<?> gradient) {
        return ((GraphOperation) gradient.op()).getUnsafeNativeHandle() != null;
    }

    @SuppressWarnings({"unchecked", "rawtypes"}) // a gradient has the type of its variable
    private static GradAndVar<?> pair(Output<?> gradient, Output<?> variable) {
        return new GradAndVar(gradient, variable);
    }

    /// The names of the nodes that a node depends on by its inputs, itself included.
    private static Set<String> inputsOf(GraphOperation node) {
        Set<String> names = new HashSet<>(Set.of(node.name()));
        Deque<GraphOperation> next = new ArrayDeque<>(List.of(node));
        while (!next.isEmpty()) {
            GraphOperation each = next.pop();
            for (int i = 0; i < each.numInputs(); i++) {
                GraphOperation input = (GraphOperation) each.input(i).op();
                if (names.add(input.name())) {
                    next.push(input);
                }
            }
        }
        return names;
    }
}
