package org.horovod4j.examples;

import org.tensorflow.Operand;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Variable;
import org.tensorflow.op.nn.FusedBatchNorm;
import org.tensorflow.types.TFloat32;
import org.tensorflow.types.TInt32;

import java.util.Arrays;
import java.util.List;

/// Layers of TensorFlow networks for images, and their variables. TensorFlow Java has ops, but no
/// layers.
///
/// Images have the dimensions batch, height, width, channels.
final class TensorFlowLayers {
    private static final float EPSILON = 1e-5f;

    private final Ops tf;

    TensorFlowLayers(Ops tf) {
        this.tf = tf;
    }

    /// Without bias. The output is as large as the input divided by `stride`.
    Operand<TFloat32> convolution(
            String name, Operand<TFloat32> input, int filters, int window, int stride) {
        long channels = last(input);
        Variable<TFloat32> kernel =
                weights(
                        name + "_kernel",
                        Shape.of(window, window, channels, filters),
                        channels * window * window);
        return tf.nn.conv2d(input, kernel, List.of(1L, (long) stride, (long) stride, 1L), "SAME");
    }

    /// A number for each channel, added to it.
    Operand<TFloat32> bias(String name, Operand<TFloat32> input) {
        return tf.nn.biasAdd(input, constants(name + "_bias", last(input), 0));
    }

    /// Normalizes channels with the mean and the variance of this batch.
    Operand<TFloat32> batchNorm(String name, Operand<TFloat32> input) {
        Operand<TFloat32> none = tf.constant(new float[0]);
        return tf.nn.fusedBatchNorm(
                        input,
                        constants(name + "_scale", last(input), 1),
                        constants(name + "_offset", last(input), 0),
                        none,
                        none,
                        FusedBatchNorm.epsilon(EPSILON),
                        FusedBatchNorm.isTraining(true))
                .y();
    }

    Operand<TFloat32> maxPool(Operand<TFloat32> input, int window, int stride) {
        return tf.nn.maxPool(input, square(window), square(stride), "SAME");
    }

    private Operand<TInt32> square(int side) {
        return tf.constant(new int[] {1, side, side, 1});
    }

    /// The mean of each channel.
    Operand<TFloat32> averagePool(Operand<TFloat32> input) {
        return tf.math.mean(input, tf.constant(new int[] {1, 2}));
    }

    /// All numbers of an image in one row.
    Operand<TFloat32> flatten(Operand<TFloat32> input) {
        long numbers = 1;
        for (int i = 1; i < input.shape().numDimensions(); i++) {
            numbers *= input.shape().get(i);
        }
        return tf.reshape(input, tf.constant(new long[] {-1, numbers}));
    }

    Operand<TFloat32> dense(String name, Operand<TFloat32> input, int outputs) {
        long inputs = last(input);
        return bias(
                name,
                tf.linalg.matMul(
                        input, weights(name + "_weights", Shape.of(inputs, outputs), inputs)));
    }

    private static long last(Operand<TFloat32> input) {
        return input.shape().get(input.shape().numDimensions() - 1);
    }

    /// Random weights, other ones in each process: a broadcast makes them equal.
    private Variable<TFloat32> weights(String name, Shape shape, long inputs) {
        Ops init = tf.withInitScope();
        Variable<TFloat32> variable = init.withName(name).variable(shape, TFloat32.class);
        init.assign(
                variable,
                init.math.mul(
                        init.random.truncatedNormal(init.constant(shape.asArray()), TFloat32.class),
                        init.constant((float) Math.sqrt(2.0 / inputs))));
        return variable;
    }

    private Variable<TFloat32> constants(String name, long size, float value) {
        Ops init = tf.withInitScope();
        Variable<TFloat32> variable = init.withName(name).variable(Shape.of(size), TFloat32.class);
        float[] values = new float[Math.toIntExact(size)];
        Arrays.fill(values, value);
        init.assign(variable, init.constant(values));
        return variable;
    }
}
