package org.horovod4j.tensorflow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.horovod4j.ReducescatterOptions;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.types.TFloat32;

import java.util.Arrays;
import java.util.List;
import java.util.function.BiFunction;

/// Gradients through collectives. Each loss is the sum of the elements of a result, weighted by rank
/// where that shows a difference.
class CollectiveGradientsTest {
    private interface Body {
        void run(GraphRun graph, Communicator comm);
    }

    private static void run(int size, Body body) {
        World.run(
                size,
                comm -> {
                    try (GraphRun graph = new GraphRun(comm)) {
                        body.run(graph, comm);
                    }
                });
    }

    /// The gradient of `input` for a loss with weight `weight` for each element of the result.
    private static float[] gradient(
            GraphRun graph,
            float[][] input,
            float weight,
            BiFunction<HvdOps, Operand<TFloat32>, Operand<TFloat32>> collective) {
        Operand<TFloat32> own = graph.tf.constant(input);
        Operand<TFloat32> result = collective.apply(graph.hvd, own);
        Operand<TFloat32> loss = sum(graph, graph.tf.math.mul(result, graph.tf.constant(weight)));
        Output<?>[] gradients =
                graph.graph.addGradients(loss.asOutput(), new Output<?>[] {own.asOutput()});
        return graph.floats(gradients[0]).getFirst();
    }

    private static Operand<TFloat32> sum(GraphRun graph, Operand<TFloat32> values) {
        return graph.tf.reduceSum(
                graph.tf.reshape(values, graph.tf.constant(new int[] {-1})), graph.tf.constant(0));
    }

    private static float[] filled(int length, float value) {
        float[] values = new float[length];
        Arrays.fill(values, value);
        return values;
    }

    @Test
    void gradientOfAllreduceIsReduced() {
        run(
                2,
                (graph, comm) -> {
                    float[][] own = {{comm.rank(), 1, 2}};
                    assertThat(gradient(graph, own, 1, (hvd, x) -> hvd.allreduce(x, ReduceOp.SUM)))
                            .containsExactly(2, 2, 2);
                    assertThat(
                                    gradient(
                                            graph,
                                            own,
                                            1,
                                            (hvd, x) -> hvd.allreduce(x, ReduceOp.AVERAGE)))
                            .containsExactly(1, 1, 1);
                    assertThat(
                                    gradient(
                                            graph,
                                            own,
                                            comm.rank(),
                                            (hvd, x) ->
                                                    hvd.allreduce(
                                                            x,
                                                            AllreduceOptions.sum()
                                                                    .withPostscale(3))))
                            .containsExactly(3, 3, 3);
                });
    }

    /// The loss depends on one member of the group alone.
    @Test
    void gradientOfAGroupIsReduced() {
        run(
                2,
                (graph, comm) -> {
                    float[][] own = {{comm.rank(), 1}};
                    assertThat(
                                    gradient(
                                            graph,
                                            own,
                                            1,
                                            (hvd, x) ->
                                                    hvd.groupedAllreduce(
                                                                    List.of(
                                                                            graph.tf.constant(
                                                                                    new float[] {
                                                                                        5
                                                                                    }),
                                                                            x),
                                                                    ReduceOp.SUM)
                                                            .get(1)))
                            .containsExactly(2, 2);
                });
    }

    @Test
    void gradientOfAllgatherHasTheRowsOfThisRank() {
        run(
                3,
                (graph, comm) -> {
                    float[][] own = new float[comm.rank() + 1][2];
                    Operand<TFloat32> weights =
                            graph.tf.constant(
                                    new float[][] {{1, 1}, {2, 2}, {2, 2}, {3, 3}, {3, 3}, {3, 3}});
                    assertThat(
                                    gradient(
                                            graph,
                                            own,
                                            1,
                                            (hvd, x) ->
                                                    graph.tf.math.mul(hvd.allgather(x), weights)))
                            .containsExactly(filled(2 * (comm.rank() + 1), 3 * (comm.rank() + 1)));
                });
    }

    @Test
    void gradientOfBroadcastGoesToTheRoot() {
        run(
                2,
                (graph, comm) ->
                        assertThat(
                                        gradient(
                                                graph,
                                                new float[][] {{comm.rank()}},
                                                1,
                                                (hvd, x) -> hvd.broadcast(x, 1)))
                                .containsExactly(comm.rank() == 1 ? 2 : 0));
    }

    @Test
    void gradientOfAlltoallIsSentBack() {
        run(
                2,
                (graph, comm) ->
                        assertThat(
                                        gradient(
                                                graph,
                                                new float[][] {{1}, {2}, {3}, {4}},
                                                comm.rank() + 1,
                                                (hvd, x) ->
                                                        hvd.alltoall(
                                                                        x,
                                                                        graph.tf.constant(
                                                                                new int[] {1, 2}))
                                                                .output()))
                                .containsExactly(1, 2, 2, 0));
    }

    @Test
    void gradientOfReducescatterIsGathered() {
        run(
                2,
                (graph, comm) -> {
                    float[][] own = {{1}, {2}, {3}};
                    float weight = comm.rank() + 1;
                    assertThat(
                                    gradient(
                                            graph,
                                            own,
                                            weight,
                                            (hvd, x) -> hvd.reducescatter(x, ReduceOp.SUM)))
                            .containsExactly(2, 2, 4);
                    assertThat(
                                    gradient(
                                            graph,
                                            own,
                                            weight,
                                            (hvd, x) ->
                                                    hvd.reducescatter(
                                                            x,
                                                            ReducescatterOptions.average()
                                                                    .withPrescale(0.5))))
                            .containsExactly(0.5f, 0.5f, 1);
                });
    }

    @Test
    void gradientOfAMinimumIsRefused() {
        run(
                1,
                (graph, _) ->
                        assertThatThrownBy(
                                        () ->
                                                gradient(
                                                        graph,
                                                        new float[][] {{1}},
                                                        1,
                                                        (hvd, x) -> hvd.allreduce(x, ReduceOp.MIN)))
                                .hasMessageContaining("MIN has no gradient that can be reduced"));
    }
}
