package org.horovod4j.tensorflow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.data.Offset;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.framework.optimizers.GradientDescent;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.op.nn.FusedBatchNorm;
import org.tensorflow.types.TFloat16;
import org.tensorflow.types.TFloat32;

import java.util.Arrays;
import java.util.List;

/// Batches of ranks, which are threads of this JVM, against one batch on one rank.
class SyncBatchNormalizationTest {
    private static final Offset<Float> CLOSE = Offset.offset(2e-5f);
    private static final int CHANNELS = 3;
    private static final int PIXELS = 4;
    private static final int[] ROWS = {2, 5, 1}; // ranks have batches of different sizes
    private static final int ALL_ROWS = Arrays.stream(ROWS).sum();

    /// The rows `from` to `to` of an input of shape [8, 2, 2, 3].
    private static Operand<TFloat32> rows(Ops tf, int from, int to, int seed) {
        int rowSize = PIXELS * CHANNELS;
        float[] values = new float[(to - from) * rowSize];
        for (int i = 0; i < values.length; i++) {
            values[i] = (float) (5 * Math.sin(seed + 1.7 * (i + from * rowSize)) + i % CHANNELS);
        }
        return tf.reshape(tf.constant(values), tf.constant(new int[] {to - from, 2, 2, CHANNELS}));
    }

    private static int firstRow(int rank) {
        return Arrays.stream(ROWS).limit(rank).sum();
    }

    /// What TensorFlow's batch normalisation gives for the whole batch.
    @SuppressWarnings("ArrayRecordComponent") // read, never compared
    private record Expected(float[] output, float[] inputGradient, float[] mean, float[] variance) {
        static Expected ofWholeBatch() {
            return World.of(1)
                    .call(
                            comm -> {
                                try (GraphRun run = new GraphRun(comm)) {
                                    return ofWholeBatch(run);
                                }
                            })
                    .getFirst();
        }

        private static Expected ofWholeBatch(GraphRun run) {
            Ops tf = run.tf;
            Operand<TFloat32> input = rows(tf, 0, ALL_ROWS, 0);
            Operand<TFloat32> empty = tf.constant(new float[0]);
            FusedBatchNorm<TFloat32, TFloat32> norm =
                    tf.nn.fusedBatchNorm(
                            input,
                            tf.constant(new float[] {1, 1, 1}),
                            tf.constant(new float[] {0, 0, 0}),
                            empty,
                            empty,
                            FusedBatchNorm.epsilon(1e-5f),
                            FusedBatchNorm.isTraining(true));
            Operand<TFloat32> loss = loss(tf, norm.y(), 0, ALL_ROWS);
            Output<?>[] gradient =
                    run.graph.addGradients(loss.asOutput(), new Output<?>[] {input.asOutput()});
            List<float[]> values =
                    run.floats(norm.y(), gradient[0], norm.batchMean(), norm.batchVariance());
            return new Expected(values.get(0), values.get(1), values.get(2), values.get(3));
        }

        private float[] part(float[] all, int rank) {
            int rowSize = PIXELS * CHANNELS;
            return Arrays.copyOfRange(all, firstRow(rank) * rowSize, firstRow(rank + 1) * rowSize);
        }
    }

    /// A sum with a weight for each element, so that the sum over ranks is that of the whole batch.
    private static Operand<TFloat32> loss(Ops tf, Operand<TFloat32> output, int from, int to) {
        return tf.reduceSum(
                tf.math.mul(tf.math.square(output), rows(tf, from, to, 3)),
                tf.constant(new int[] {0, 1, 2, 3}));
    }

    @Test
    void outputsGradientsAndRunningStatisticsAreThoseOfTheWholeBatch() {
        Expected expected = Expected.ofWholeBatch();
        World.run(
                ROWS.length,
                comm -> {
                    try (GraphRun run = new GraphRun(comm)) {
                        int from = firstRow(comm.rank());
                        int to = firstRow(comm.rank() + 1);
                        Operand<TFloat32> input = rows(run.tf, from, to, 0);
                        SyncBatchNormalization<TFloat32> norm =
                                SyncBatchNormalization.builder(run.tf, "norm")
                                        .communicator(comm)
                                        .momentum(0)
                                        .build(TFloat32.class, CHANNELS);
                        Operand<TFloat32> output = norm.training(input);
                        Output<?>[] gradient =
                                run.graph.addGradients(
                                        loss(run.tf, output, from, to).asOutput(),
                                        new Output<?>[] {input.asOutput()});
                        Operand<TFloat32> inferred = norm.inference(input);
                        run.session().initialize();
                        List<float[]> values = run.floats(output, gradient[0]);
                        assertThat(values.get(0))
                                .containsExactly(
                                        expected.part(expected.output, comm.rank()), CLOSE);
                        assertThat(values.get(1))
                                .containsExactly(
                                        expected.part(expected.inputGradient, comm.rank()),
                                        Offset.offset(2e-3f));
                        assertThat(
                                        run.floats(run.graph.outputOrThrow("norm/moving_mean"))
                                                .getFirst())
                                .containsExactly(expected.mean, CLOSE);
                        assertThat(
                                        run.floats(run.graph.outputOrThrow("norm/moving_variance"))
                                                .getFirst())
                                .containsExactly(expected.variance, Offset.offset(2e-4f));
                        assertThat(run.floats(inferred).getFirst())
                                .as("the running variance is that of a sample")
                                .containsExactly(values.get(0), Offset.offset(0.05f));
                    }
                });
    }

    /// Equal batches, so that the average of gradients is the gradient of the whole batch.
    @ParameterizedTest
    @ValueSource(ints = {-1, 1})
    void twoRanksTrainAsOneWithBothBatches(int channelAxis) {
        List<float[]> trained =
                World.of(2)
                        .call(
                                comm ->
                                        trainedParameters(
                                                new GraphRun(comm), comm.rank(), 2, channelAxis));
        float[] alone =
                World.of(1)
                        .call(comm -> trainedParameters(new GraphRun(comm), 0, 1, channelAxis))
                        .getFirst();
        assertThat(trained.get(0)).containsExactly(trained.get(1));
        assertThat(trained.get(0)).containsExactly(alone, CLOSE);
    }

    private static float[] trainedParameters(GraphRun run, int rank, int size, int channelAxis) {
        try (run) {
            Ops tf = run.tf;
            int rows = 8 / size;
            Operand<TFloat32> input = rows(tf, rank * rows, (rank + 1) * rows, 0);
            if (channelAxis == 1) {
                input = tf.linalg.transpose(input, tf.constant(new int[] {0, 3, 1, 2}));
            }
            SyncBatchNormalization<TFloat32> norm =
                    SyncBatchNormalization.builder(tf, "norm")
                            .communicator(run.comm)
                            .channelAxis(channelAxis)
                            .build(TFloat32.class, CHANNELS);
            Operand<TFloat32> scale =
                    tf.withName("scale").variable(tf.constant(new float[] {0.5f}));
            Operand<TFloat32> output = norm.training(tf.math.tanh(tf.math.mul(input, scale)));
            Operand<TFloat32> loss =
                    tf.math.mean(
                            tf.math.squaredDifference(output, tf.math.sin(input)),
                            tf.constant(new int[] {0, 1, 2, 3}));
            Op step =
                    DistributedOptimizer.wrap(new GradientDescent(run.graph, 0.1f))
                            .communicator(run.comm)
                            .build()
                            .minimize(loss);
            run.session().initialize();
            for (int i = 0; i < 10; i++) {
                run.session().run(step);
            }
            float[] all = new float[0];
            for (String name :
                    List.of(
                            "scale",
                            "norm/gamma",
                            "norm/beta",
                            "norm/moving_mean",
                            "norm/moving_variance")) {
                float[] values = run.floats(run.graph.outputOrThrow(name)).getFirst();
                all = Arrays.copyOf(all, all.length + values.length);
                System.arraycopy(values, 0, all, all.length - values.length, values.length);
            }
            return all;
        }
    }

    @Test
    void wrongInputsAreRejected() {
        try (Graph graph = new Graph()) {
            Ops tf = Ops.create(graph);
            assertThatThrownBy(
                            () ->
                                    SyncBatchNormalization.builder(tf, "half")
                                            .build(TFloat16.class, CHANNELS))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("'half'")
                    .hasMessageContaining("TFloat16");
            SyncBatchNormalization<TFloat32> norm =
                    SyncBatchNormalization.builder(tf, "norm").build(TFloat32.class, CHANNELS);
            assertThatThrownBy(() -> norm.training(tf.constant(new float[CHANNELS])))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("'norm'")
                    .hasMessageContaining(Shape.of(CHANNELS).toString());
        }
    }
}
