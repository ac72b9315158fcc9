package org.horovod4j.tensorflow;

import org.tensorflow.Graph;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.framework.optimizers.Optimizer;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Placeholder;
import org.tensorflow.op.core.Variable;
import org.tensorflow.proto.ConfigProto;
import org.tensorflow.types.TFloat32;

import java.util.function.Function;

/// A network with two layers, and its training.
final class SmallTraining implements AutoCloseable {
    private static final int INPUTS = 3;

    final Graph graph = new Graph();
    final Ops tf = Ops.create(graph);
    final Placeholder<TFloat32> input =
            tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1, INPUTS)));
    final Placeholder<TFloat32> label =
            tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1, 1)));
    final Variable<TFloat32> first =
            variable("first", new float[][] {{.1f, .2f}, {.3f, -.4f}, {.5f, .6f}});
    final Variable<TFloat32> second = variable("second", new float[][] {{.7f}, {-.8f}});
    final Op step;
    final Session session;
    private final PreparedRun preparedStep;

    SmallTraining(Function<Graph, ? extends Optimizer> optimizer) {
        this(optimizer, ConfigProto.getDefaultInstance());
    }

    SmallTraining(Function<Graph, ? extends Optimizer> optimizer, ConfigProto config) {
        var hidden = tf.math.tanh(tf.linalg.matMul(input, first));
        var loss =
                tf.math.mean(
                        tf.math.squaredDifference(tf.linalg.matMul(hidden, second), label),
                        tf.constant(new int[] {0, 1}));
        step = optimizer.apply(graph).minimize(loss);
        session = new Session(graph, config);
        session.initialize();
        preparedStep = PreparedRun.of(session, step);
    }

    private Variable<TFloat32> variable(String name, float[][] start) {
        Variable<TFloat32> variable =
                tf.withName(name).variable(Shape.of(start.length, start[0].length), TFloat32.class);
        tf.withInitScope().assign(variable, tf.withInitScope().constant(start));
        return variable;
    }

    /// Trains with samples `from` to `to` of the data, which a formula gives.
    void step(int from, int to) {
        try (TFloat32 inputs = samples(from, to, INPUTS, 0);
                TFloat32 labels = samples(from, to, 1, 1);
                PreparedRun.Values _ =
                        preparedStep.run(
                                runner -> runner.feed(input, inputs).feed(label, labels))) {
            // nothing is fetched
        }
    }

    private static TFloat32 samples(int from, int to, int columns, int kind) {
        return TFloat32.tensorOf(
                Shape.of(to - from, columns),
                tensor -> {
                    for (int i = from; i < to; i++) {
                        for (int j = 0; j < columns; j++) {
                            tensor.setFloat(
                                    (float) Math.sin(1 + 7 * i + 3 * j + 5 * kind), i - from, j);
                        }
                    }
                });
    }

    float[] values() {
        try (Result result = session.runner().fetch(first).fetch(second).run()) {
            float[] a = GraphRun.floats(result.get(0));
            float[] b = GraphRun.floats(result.get(1));
            float[] all = new float[a.length + b.length];
            System.arraycopy(a, 0, all, 0, a.length);
            System.arraycopy(b, 0, all, a.length, b.length);
            return all;
        }
    }

    @Override
    public void close() {
        session.close();
        graph.close();
    }
}
