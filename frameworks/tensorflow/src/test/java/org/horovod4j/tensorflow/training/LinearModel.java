package org.horovod4j.tensorflow.training;

import org.horovod4j.Communicator;
import org.horovod4j.tensorflow.DistributedOptimizer;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Result;
import org.tensorflow.Session;
import org.tensorflow.framework.optimizers.Optimizer;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.ndarray.StdArrays;
import org.tensorflow.ndarray.buffer.DataBuffers;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Placeholder;
import org.tensorflow.op.core.Variable;
import org.tensorflow.types.TFloat32;

import java.util.function.Function;

/// A network without hidden layers, and its optimizer.
final class LinearModel implements AutoCloseable {
    private static final int BATCH = 4;

    final Graph graph = new Graph();
    final Ops tf = Ops.create(graph);
    final Placeholder<TFloat32> input =
            tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1, 2)));
    final Placeholder<TFloat32> label =
            tf.placeholder(TFloat32.class, Placeholder.shape(Shape.of(-1, 1)));
    final Variable<TFloat32> weights;
    final Operand<TFloat32> loss;
    final Op trainOp;

    /// @param start the first weight
    LinearModel(float start, Function<Graph, ? extends Optimizer> optimizer) {
        Ops init = tf.withInitScope();
        weights = tf.withName("weights").variable(Shape.of(2, 1), TFloat32.class);
        init.assign(weights, init.constant(new float[][] {{start}, {-0.5f}}));
        loss =
                tf.math.mean(
                        tf.math.squaredDifference(tf.linalg.matMul(input, weights), label),
                        tf.constant(new int[] {0, 1}));
        trainOp = optimizer.apply(graph).minimize(loss);
    }

    static LinearModel distributed(
            Communicator comm, float start, Function<Graph, ? extends Optimizer> optimizer) {
        return new LinearModel(
                start,
                graph ->
                        DistributedOptimizer.wrap(optimizer.apply(graph))
                                .communicator(comm)
                                .build());
    }

    /// A step with the batch of this step and rank.
    void run(TrainingSession training, int rank) {
        int first = (training.step() * 2 + rank) * BATCH;
        try (TFloat32 inputs = inputs(first);
                TFloat32 labels = labels(first)) {
            training.run(runner -> runner.feed(input, inputs).feed(label, labels));
        }
    }

    /// The same without a training session.
    ///
    /// @param target what to run
    void run(Session session, Op target, int step, int rank) {
        int first = (step * 2 + rank) * BATCH;
        try (TFloat32 inputs = inputs(first);
                TFloat32 labels = labels(first)) {
            session.runner()
                    .feed(input, inputs)
                    .feed(label, labels)
                    .addTarget(target)
                    .run()
                    .close();
        }
    }

    /// A step with a batch that the network cannot use.
    void runBadBatch(TrainingSession training) {
        try (TFloat32 inputs = TFloat32.tensorOf(StdArrays.ndCopyOf(new float[3][7]));
                TFloat32 labels = labels(0)) {
            training.run(runner -> runner.feed(input, inputs).feed(label, labels));
        }
    }

    private static float sample(int i, int column) {
        return (float) Math.sin(1 + 7 * i + 3 * column);
    }

    private static TFloat32 inputs(int first) {
        float[][] values = new float[BATCH][];
        for (int i = 0; i < BATCH; i++) {
            values[i] = new float[] {sample(first + i, 0), sample(first + i, 1)};
        }
        return TFloat32.tensorOf(StdArrays.ndCopyOf(values));
    }

    private static TFloat32 labels(int first) {
        float[][] values = new float[BATCH][];
        for (int i = 0; i < BATCH; i++) {
            values[i] = new float[] {2 * sample(first + i, 0) + sample(first + i, 1)};
        }
        return TFloat32.tensorOf(StdArrays.ndCopyOf(values));
    }

    /// The values of a variable.
    static float[] values(Session session, Operand<TFloat32> variable) {
        try (Result result = session.runner().fetch(variable).run()) {
            TFloat32 tensor = (TFloat32) result.get(0);
            float[] values = new float[(int) tensor.shape().size()];
            tensor.copyTo(DataBuffers.of(values, false, false));
            return values;
        }
    }

    float[] weights(TrainingSession training) {
        return values(training.session(), weights);
    }

    @Override
    public void close() {
        graph.close();
    }
}
