package org.horovod4j.tensorflow;

import org.tensorflow.Operand;
import org.tensorflow.op.Ops;
import org.tensorflow.types.TFloat32;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/// Limits the norm of all gradients together.
final class GlobalNorm {
    private GlobalNorm() {}

    /// Scales the gradients that ranks share so that their norm, over all of them, is at most
    /// `maximum`. Local gradients would make the norm different on each rank.
    static List<NamedGradient> clip(
            Ops tf,
            List<NamedGradient> gradients,
            Predicate<NamedGradient> isLocal,
            float maximum) {
        List<Operand<TFloat32>> halfSquares = new ArrayList<>();
        for (NamedGradient each : gradients) {
            if (!isLocal.test(each)) {
                // As float32: the squares of a float16 gradient overflow easily.
                halfSquares.add(tf.nn.l2Loss(tf.dtypes.cast(each.gradient(), TFloat32.class)));
            }
        }
        if (halfSquares.isEmpty()) {
            return gradients;
        }
        Operand<TFloat32> norm =
                tf.math.sqrt(tf.math.mul(tf.math.addN(halfSquares), tf.constant(2f)));
        Operand<TFloat32> limit = tf.constant(maximum);
        Operand<TFloat32> factor = tf.math.div(limit, tf.math.maximum(norm, limit));
        return gradients.stream()
                .map(each -> isLocal.test(each) ? each : scale(tf, each, factor))
                .toList();
    }

    private static NamedGradient scale(Ops tf, NamedGradient gradient, Operand<TFloat32> factor) {
        return gradient.with(
                tf.math.mul(
                        gradient.gradient(), tf.dtypes.cast(factor, gradient.gradient().type())));
    }
}
