package org.horovod4j.examples;

import org.tensorflow.Operand;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.ndarray.buffer.DataBuffers;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Placeholder;
import org.tensorflow.types.TFloat32;
import org.tensorflow.types.TInt64;

/// A network for handwritten digits in a TensorFlow graph, as a program without Horovod4J has it.
///
/// @param images placeholder: the pixels of each image in a row
/// @param labels placeholder: see [#labels(MnistData, int[])]
/// @param digits the predictions
/// @param loss the mean over a batch
/// @param correct for each image 1 if the prediction is right, else 0
record DigitNetwork(
        Placeholder<TFloat32> images,
        Placeholder<TFloat32> labels,
        Operand<TInt64> digits,
        Operand<TFloat32> loss,
        Operand<TFloat32> correct) {
    private static final int DIGITS = 10;

    /// Two convolutional layers with kernels of 5 by 5 pixels, and two fully connected layers.
    static DigitNetwork build(Ops tf) {
        TensorFlowLayers layers = new TensorFlowLayers(tf);
        Placeholder<TFloat32> images =
                tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1, MnistData.PIXELS)));
        Placeholder<TFloat32> labels =
                tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1, DIGITS)));
        Operand<TFloat32> input = tf.reshape(images, tf.constant(new int[] {-1, 28, 28, 1}));
        Operand<TFloat32> first = convolution(tf, layers, "conv1", input, 16);
        Operand<TFloat32> second = convolution(tf, layers, "conv2", first, 32);
        Operand<TFloat32> hidden = tf.nn.relu(layers.dense("dense1", layers.flatten(second), 128));
        Operand<TFloat32> scores = layers.dense("dense2", hidden, DIGITS);
        Operand<TInt64> digits = tf.math.argMax(scores, tf.constant(1));
        return new DigitNetwork(
                images,
                labels,
                digits,
                tf.math.mean(
                        tf.nn.softmaxCrossEntropyWithLogits(scores, labels).loss(), tf.constant(0)),
                tf.dtypes.cast(
                        tf.math.equal(digits, tf.math.argMax(labels, tf.constant(1))),
                        TFloat32.class));
    }

    private static Operand<TFloat32> convolution(
            Ops tf, TensorFlowLayers layers, String name, Operand<TFloat32> input, int filters) {
        Operand<TFloat32> sums = layers.bias(name, layers.convolution(name, input, filters, 5, 1));
        return layers.maxPool(tf.nn.relu(sums), 2, 2);
    }

    /// The images of a batch.
    static TFloat32 images(MnistData data, int[] batch) {
        float[] values = new float[batch.length * MnistData.PIXELS];
        for (int i = 0; i < batch.length; i++) {
            data.copyTo(values, i, batch[i]);
        }
        return TFloat32.tensorOf(
                Shape.of(batch.length, MnistData.PIXELS), DataBuffers.of(values, true, false));
    }

    /// Each label of a batch as ten numbers, of which one is 1.
    static TFloat32 labels(MnistData data, int[] batch) {
        float[] values = new float[batch.length * DIGITS];
        for (int i = 0; i < batch.length; i++) {
            values[i * DIGITS + data.label(batch[i])] = 1;
        }
        return TFloat32.tensorOf(
                Shape.of(batch.length, DIGITS), DataBuffers.of(values, true, false));
    }
}
