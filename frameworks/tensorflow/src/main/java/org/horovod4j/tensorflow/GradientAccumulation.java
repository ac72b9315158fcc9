package org.horovod4j.tensorflow;

import org.horovod4j.optim.GradientSettings;
import org.tensorflow.Operand;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Variable;
import org.tensorflow.types.TBool;
import org.tensorflow.types.TInt64;
import org.tensorflow.types.family.TNumber;

import java.util.ArrayList;
import java.util.List;

/// Adds up the gradients of several runs in variables of the graph.
///
/// Each sum goes through a switch. In a run that does not complete the window, the switch has no
/// output, and TensorFlow runs nothing that depends on it: no collective and no update.
final class GradientAccumulation {
    private final Ops tf;
    private final List<NamedGradient> sums = new ArrayList<>();
    private final List<Variable<TNumber>> accumulators = new ArrayList<>();

    GradientAccumulation(Ops base, GradientSettings settings, List<NamedGradient> gradients) {
        tf = base.withSubScope("accumulation");
        Operand<TBool> isComplete = countRun(settings.backwardPassesPerStep());
        for (NamedGradient each : gradients) {
            Variable<TNumber> accumulator =
                    tf.withInitScope().variable(each.variable().shape(), each.gradient().type());
            tf.withInitScope()
                    .assign(accumulator, zeros(tf.withInitScope(), each.variable().shape(), each));
            accumulators.add(accumulator);
            sums.add(
                    each.with(
                            tf.switchCond(tf.assignAdd(accumulator, each.gradient()), isComplete)
                                    .outputTrue()));
        }
    }

    private static Operand<TNumber> zeros(Ops ops, Shape shape, NamedGradient gradient) {
        return ops.zeros(ops.constant(shape.asArray()), gradient.gradient().type());
    }

    /// Whether this run completes a window.
    private Operand<TBool> countRun(int passes) {
        Variable<TInt64> counter = tf.withInitScope().variable(Shape.scalar(), TInt64.class);
        tf.withInitScope().assign(counter, tf.withInitScope().constant(0L));
        return tf.math.equal(
                tf.math.mod(tf.assignAdd(counter, tf.constant(1L)), tf.constant((long) passes)),
                tf.constant(0L));
    }

    /// The sums of complete windows.
    List<NamedGradient> sums() {
        return sums;
    }

    /// Sets the sums to zero after the step. Zeros are assigned, and not computed from the sums, so
    /// that an infinity does not stay.
    List<Op> resetsAfter(Op step) {
        Ops after = tf.withControlDependencies(List.of(step));
        List<Op> resets = new ArrayList<>();
        for (int i = 0; i < accumulators.size(); i++) {
            Variable<TNumber> accumulator = accumulators.get(i);
            resets.add(after.assign(accumulator, zeros(after, accumulator.shape(), sums.get(i))));
        }
        return resets;
    }
}
