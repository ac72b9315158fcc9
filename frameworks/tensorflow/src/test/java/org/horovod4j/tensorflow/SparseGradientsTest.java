package org.horovod4j.tensorflow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.data.Offset;
import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.horovod4j.tensorflow.kernel.OpType;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.framework.optimizers.GradientDescent;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Placeholder;
import org.tensorflow.op.core.Variable;
import org.tensorflow.types.TFloat32;
import org.tensorflow.types.TInt32;

import java.util.List;
import java.util.function.UnaryOperator;

/// Gradients of which few rows are not zero.
class SparseGradientsTest {
    private static final int WORDS = 50;

    /// The gradient of `tf.gather` is a whole tensor in TensorFlow Java, not `IndexedSlices`.
    @Test
    void gradientOfGatherIsDense() {
        World.run(
                1,
                comm -> {
                    try (GraphRun run = new GraphRun(comm)) {
                        Operand<TFloat32> table =
                                run.tf.constant(new float[][] {{1, 2}, {3, 4}, {5, 6}});
                        Operand<TFloat32> looked =
                                run.tf.gather(
                                        table,
                                        run.tf.constant(new int[] {2, 0, 2}),
                                        run.tf.constant(0));
                        Output<?>[] gradient =
                                run.graph.addGradients(
                                        run.tf
                                                .reduceSum(
                                                        looked, run.tf.constant(new int[] {0, 1}))
                                                .asOutput(),
                                        new Output<?>[] {table.asOutput()});
                        assertThat(run.floats(gradient[0]).getFirst())
                                .containsExactly(1, 1, 0, 0, 2, 2);
                    }
                });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void rowsOfAllRanksAreSummed(int size) {
        World.run(
                size,
                comm -> {
                    try (GraphRun run = new GraphRun(comm)) {
                        float[][][] own = new float[6][1][2];
                        own[0][0][0] = 1; // on all ranks
                        own[1 + comm.rank()][0][1] = comm.rank() + 2;
                        Output<TFloat32> sum =
                                run.hvd.sparseAllreduce(run.tf.constant(own), ReduceOp.SUM);
                        Output<TFloat32> none =
                                run.hvd.sparseAllreduce(
                                        run.tf.constant(new float[4][2]), ReduceOp.AVERAGE);
                        assertThat(sum.shape()).isEqualTo(Shape.of(6, 1, 2));
                        float[] expected = new float[12];
                        expected[0] = size;
                        for (int rank = 0; rank < size; rank++) {
                            expected[2 * (1 + rank) + 1] = rank + 2;
                        }
                        for (int i = 0; i < 3; i++) {
                            List<float[]> values = run.floats(sum, none);
                            assertThat(values.get(0)).containsExactly(expected);
                            assertThat(values.get(1)).containsOnly(0).hasSize(8);
                        }
                    }
                });
    }

    @Test
    void sparseAndDenseTrainingAreEqual() {
        World.run(
                2,
                comm -> {
                    float[] dense = train(comm, 0, options -> options);
                    float[] sparse =
                            train(comm, 1, options -> options.sparse(name -> name.equals("table")));
                    assertThat(sparse).containsExactly(dense, Offset.offset(1e-5f));
                    float[] accumulated =
                            train(
                                    comm,
                                    1,
                                    options ->
                                            options.sparse(name -> name.equals("table"))
                                                    .backwardPassesPerStep(2)
                                                    .averageAccumulated(true));
                    float[] accumulatedDense =
                            train(
                                    comm,
                                    0,
                                    options ->
                                            options.backwardPassesPerStep(2)
                                                    .averageAccumulated(true));
                    assertThat(accumulated).containsExactly(accumulatedDense, Offset.offset(1e-5f));
                });
    }

    /// Looks up other words on each rank and in each step.
    ///
    /// @param sparseOps how many sparse collectives the graph must have
    private static float[] train(
            Communicator comm, int sparseOps, UnaryOperator<DistributedOptimizer.Builder> options) {
        try (GraphRun run = new GraphRun(comm)) {
            Ops tf = run.tf;
            Placeholder<TInt32> words =
                    tf.placeholder(TInt32.class, Placeholder.shape(Shape.of(3)));
            float[][] start = new float[WORDS][4];
            for (int i = 0; i < WORDS; i++) {
                start[i] = new float[] {i, 1, -i, 0.5f};
            }
            Variable<TFloat32> table = tf.withName("table").variable(tf.constant(start));
            Variable<TFloat32> weights =
                    tf.withName("weights")
                            .variable(tf.constant(new float[][] {{1}, {2}, {1}, {0}}));
            Operand<TFloat32> output =
                    tf.linalg.matMul(tf.gather(table, words, tf.constant(0)), weights);
            Operand<TFloat32> loss =
                    tf.math.mean(tf.math.square(output), tf.constant(new int[] {0, 1}));
            Op step =
                    options.apply(
                                    DistributedOptimizer.wrap(new GradientDescent(run.graph, 0.01f))
                                            .communicator(run.comm))
                            .build()
                            .minimize(loss);
            assertThat(run.graph.toGraphDef().getNodeList())
                    .filteredOn(node -> node.getOp().equals(OpType.SPARSE_ALLREDUCE.typeName()))
                    .hasSize(sparseOps);
            run.session().initialize();
            for (int i = 0; i < 8; i++) {
                int first = 7 * i + 3 * run.comm.rank();
                try (TInt32 batch =
                        TInt32.vectorOf(first % WORDS, (first + 1) % WORDS, (first + 1) % WORDS)) {
                    run.session().runner().feed(words, batch).addTarget(step).run().close();
                }
            }
            return run.floats(table).getFirst();
        }
    }

    @Test
    void scalarsHaveNoRows() {
        World.run(
                1,
                comm -> {
                    try (GraphRun run = new GraphRun(comm)) {
                        assertThatThrownBy(
                                        () ->
                                                run.hvd.sparseAllreduce(
                                                        run.tf.constant(1f), ReduceOp.SUM))
                                .isInstanceOf(IllegalArgumentException.class)
                                .hasMessageContaining("a scalar has no rows");
                    }
                });
    }
}
