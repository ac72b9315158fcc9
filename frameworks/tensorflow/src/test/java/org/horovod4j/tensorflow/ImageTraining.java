package org.horovod4j.tensorflow;

import org.tensorflow.Graph;
import org.tensorflow.GraphOperation;
import org.tensorflow.Operand;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.framework.optimizers.Optimizer;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.ndarray.buffer.DataBuffers;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Placeholder;
import org.tensorflow.op.core.Variable;
import org.tensorflow.proto.ConfigProto;
import org.tensorflow.types.TFloat32;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.function.Function;

/// A convolutional network with six variables, and its training on images that a formula gives.
final class ImageTraining implements AutoCloseable {
    private static final int WINDOW = 3;
    private static final int CLASSES = 4;

    private final Graph graph = new Graph();
    private final Ops tf = Ops.create(graph);
    private final List<Variable<TFloat32>> variables = new ArrayList<>();
    private final int side;
    private final Placeholder<TFloat32> images;
    private final Placeholder<TFloat32> labels =
            tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1, CLASSES)));
    private final Operand<TFloat32> loss;
    private final Op step;
    private final Session session;

    /// @param side the width and height of the images, in pixels
    ImageTraining(
            int side,
            int filters,
            Function<Graph, ? extends Optimizer> optimizer,
            ConfigProto config) {
        this.side = side;
        images = tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1, side, side, 1)));
        Operand<TFloat32> first = convolution("first", images, 1, filters);
        Operand<TFloat32> second = convolution("second", first, filters, filters);
        int features = side * side * filters;
        Operand<TFloat32> flat = tf.reshape(second, tf.constant(new int[] {-1, features}));
        Operand<TFloat32> scores =
                tf.nn.biasAdd(
                        tf.linalg.matMul(flat, variable("scores_weights", features, CLASSES)),
                        variable("scores_bias", CLASSES));
        loss =
                tf.math.mean(
                        tf.math.squaredDifference(scores, labels), tf.constant(new int[] {0, 1}));
        step = optimizer.apply(graph).minimize(loss);
        session = new Session(graph, config);
        session.initialize();
    }

    private Operand<TFloat32> convolution(
            String name, Operand<TFloat32> input, int channels, int filters) {
        return tf.math.tanh(
                tf.nn.biasAdd(
                        tf.nn.conv2d(
                                input,
                                variable(name + "_kernel", WINDOW, WINDOW, channels, filters),
                                List.of(1L, 1L, 1L, 1L),
                                "SAME"),
                        variable(name + "_bias", filters)));
    }

    private Variable<TFloat32> variable(String name, long... dimensions) {
        Shape shape = Shape.of(dimensions);
        Variable<TFloat32> variable = tf.withName(name).variable(shape, TFloat32.class);
        Ops init = tf.withInitScope();
        init.assign(
                variable,
                init.reshape(
                        init.constant(numbers((int) shape.size(), name.length(), 0.1f)),
                        init.constant(dimensions)));
        variables.add(variable);
        return variable;
    }

    /// A part of an endless sequence.
    private static float[] numbers(int count, int first, float scale) {
        float[] numbers = new float[count];
        for (int i = 0; i < count; i++) {
            numbers[i] = scale * (float) Math.sin(1 + 7.3 * (first + i));
        }
        return numbers;
    }

    /// Whether the graph has an op of this type.
    boolean has(String type) {
        boolean found = false;
        for (Iterator<GraphOperation> nodes = graph.operations(); nodes.hasNext(); ) {
            found |= nodes.next().type().equals(type);
        }
        return found;
    }

    /// Overwrites the variables with those of rank 0.
    void broadcast() {
        session.run(HvdTensorFlow.broadcastGlobalVariables(graph, 0));
    }

    /// Trains with samples `from` to `to` of the data.
    ///
    /// @return the loss before the step
    float step(int from, int to) {
        int count = to - from;
        int pixels = side * side;
        float[] values = numbers(count * pixels, from * pixels, 1);
        float[] expected = new float[count * CLASSES]; // the first pixels of each image
        for (int i = 0; i < count; i++) {
            System.arraycopy(values, i * pixels, expected, i * CLASSES, CLASSES);
        }
        try (TFloat32 image =
                        TFloat32.tensorOf(
                                Shape.of(count, side, side, 1),
                                DataBuffers.of(values, true, false));
                TFloat32 label =
                        TFloat32.tensorOf(
                                Shape.of(count, CLASSES), DataBuffers.of(expected, true, false));
                Result result =
                        session.runner()
                                .feed(images, image)
                                .feed(labels, label)
                                .addTarget(step)
                                .fetch(loss)
                                .run()) {
            return ((TFloat32) result.get(0)).getFloat();
        }
    }

    /// All variables, one after the other.
    float[] values() {
        Session.Runner runner = session.runner();
        variables.forEach(runner::fetch);
        try (Result result = runner.run()) {
            int count = 0;
            List<float[]> parts = new ArrayList<>();
            for (int i = 0; i < result.size(); i++) {
                parts.add(GraphRun.floats(result.get(i)));
                count += parts.getLast().length;
            }
            float[] all = new float[count];
            int at = 0;
            for (float[] part : parts) {
                System.arraycopy(part, 0, all, at, part.length);
                at += part.length;
            }
            return all;
        }
    }

    @Override
    public void close() {
        session.close();
        graph.close();
    }
}
