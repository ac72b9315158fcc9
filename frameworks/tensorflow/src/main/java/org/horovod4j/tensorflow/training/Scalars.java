package org.horovod4j.tensorflow.training;

import org.tensorflow.Operand;
import org.tensorflow.Tensor;
import org.tensorflow.types.TBfloat16;
import org.tensorflow.types.TFloat16;
import org.tensorflow.types.TFloat32;
import org.tensorflow.types.TFloat64;
import org.tensorflow.types.TInt32;
import org.tensorflow.types.TInt64;

/// Scalars of several types as numbers of Java.
final class Scalars {
    private Scalars() {}

    /// @throws IllegalArgumentException when the tensor is not a scalar, or not a number
    static double valueOf(Operand<?> output, Tensor tensor) {
        if (tensor.shape().numDimensions() != 0) {
            throw new IllegalArgumentException(
                    "'%s' has shape %s, but a metric is a scalar: use tf.math.mean"
                            .formatted(output.op().name(), tensor.shape()));
        }
        return switch (tensor) {
            case TFloat32 value -> value.getFloat();
            case TFloat64 value -> value.getDouble();
            case TFloat16 value -> value.getFloat();
            case TBfloat16 value -> value.getFloat();
            case TInt32 value -> value.getInt();
            case TInt64 value -> value.getLong();
            default ->
                    throw new IllegalArgumentException(
                            "'%s' has type %s, but a metric is a number: use tf.dtypes.cast"
                                    .formatted(output.op().name(), tensor.dataType()));
        };
    }
}
