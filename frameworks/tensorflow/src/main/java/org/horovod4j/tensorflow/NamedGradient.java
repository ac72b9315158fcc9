package org.horovod4j.tensorflow;

import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.framework.optimizers.Optimizer.GradAndVar;
import org.tensorflow.types.family.TNumber;

import java.util.ArrayList;
import java.util.List;

/// The gradient of a variable.
///
/// @param name of the variable
record NamedGradient(String name, Output<TNumber> gradient, Output<TNumber> variable) {
    @SuppressWarnings("unchecked") // gradients are numbers
    static NamedGradient of(GradAndVar<?> pair) {
        return new NamedGradient(
                pair.getVariable().op().name(),
                (Output<TNumber>) pair.getGradient(),
                (Output<TNumber>) pair.getVariable());
    }

    NamedGradient with(Operand<TNumber> other) {
        return new NamedGradient(name, other.asOutput(), variable);
    }

    /// As the optimizers of TensorFlow take them.
    static List<GradAndVar<?>> pairs(List<NamedGradient> gradients) {
        List<GradAndVar<?>> pairs = new ArrayList<>();
        gradients.forEach(each -> pairs.add(new GradAndVar<>(each.gradient, each.variable)));
        return pairs;
    }
}
