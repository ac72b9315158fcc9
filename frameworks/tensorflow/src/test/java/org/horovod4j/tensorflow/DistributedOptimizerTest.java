package org.horovod4j.tensorflow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.data.Offset;
import org.horovod4j.Communicator;
import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.compression.Compression;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.exceptions.TensorFlowException;
import org.tensorflow.framework.optimizers.GradientDescent;
import org.tensorflow.framework.optimizers.Momentum;
import org.tensorflow.framework.optimizers.Optimizer;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.op.core.Variable;
import org.tensorflow.proto.ConfigProto;
import org.tensorflow.types.TFloat32;

import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.UnaryOperator;

/// Small networks on ranks that are threads of this JVM.
class DistributedOptimizerTest {
    private static final int BATCH = 4;
    private static final Offset<Float> CLOSE = Offset.offset(1e-5f);

    private static Optimizer sgd(Graph graph) {
        return new GradientDescent(graph, 0.3f);
    }

    private static Function<Graph, Optimizer> distributed(
            Communicator comm,
            Function<Graph, Optimizer> optimizer,
            UnaryOperator<DistributedOptimizer.Builder> options) {
        return graph ->
                options.apply(DistributedOptimizer.wrap(optimizer.apply(graph)).communicator(comm))
                        .build();
    }

    /// What one process computes with the batches of all ranks.
    private static float[] alone(
            Function<Graph, ? extends Optimizer> optimizer, int ranks, int steps) {
        try (SmallTraining training = new SmallTraining(optimizer)) {
            for (int i = 0; i < steps; i++) {
                training.step(i * ranks * BATCH, (i + 1) * ranks * BATCH);
            }
            return training.values();
        }
    }

    private static float[] train(SmallTraining training, Communicator comm, int steps) {
        for (int i = 0; i < steps; i++) {
            int from = (i * comm.size() + comm.rank()) * BATCH;
            training.step(from, from + BATCH);
        }
        return training.values();
    }

    /// Trains on ranks with a part of each batch, and compares with one process.
    private static void assertEquivalent(
            int size,
            Function<Graph, Optimizer> optimizer,
            UnaryOperator<DistributedOptimizer.Builder> options,
            float tolerance) {
        float[] expected = alone(optimizer, size, 10);
        World.run(
                size,
                comm -> {
                    try (SmallTraining training =
                            new SmallTraining(distributed(comm, optimizer, options))) {
                        float[] values = train(training, comm, 10);
                        assertThat(values).containsExactly(expected, Offset.offset(tolerance));
                        assertSameOnAllRanks(comm, values);
                    }
                });
    }

    private static void assertSameOnAllRanks(Communicator comm, float[] values) {
        float[] ofRoot = values.clone();
        comm.broadcast("values", ofRoot, 0);
        assertThat(values).containsExactly(ofRoot);
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void ranksTrainAsOneProcessWithAllTheirBatches(int size) {
        assertEquivalent(size, DistributedOptimizerTest::sgd, it -> it, 1e-5f);
        assertEquivalent(size, graph -> new Momentum(graph, 0.1f, 0.9f), it -> it, 1e-5f);
        assertEquivalent(size, graph -> new Adam(graph, 0.01f), it -> it, 1e-4f);
    }

    @Test
    void optionsKeepTheResult() {
        Function<Graph, Optimizer> sgd = DistributedOptimizerTest::sgd;
        assertEquivalent(2, sgd, it -> it.groups(1), 1e-5f);
        assertEquivalent(2, sgd, it -> it.groups(List.of(List.of("second", "first"))), 1e-5f);
        assertEquivalent(2, sgd, it -> it.predivideFactor(2), 1e-5f);
        assertEquivalent(2, sgd, it -> it.compression(Compression.FP16), 1e-2f);
        assertEquivalent(2, sgd, it -> it.clipByGlobalNorm(1e6f), 1e-5f);
    }

    /// Its first step is known, and twenty steps give the same bits in each run.
    @Test
    void adamFollowsItsFormula() {
        float[] start = alone(graph -> new Adam(graph, 0f), 1, 1);
        float[] one = alone(graph -> new Adam(graph, 0.01f), 1, 1);
        for (int i = 0; i < start.length; i++) { // the first step is the learning rate, with a sign
            assertThat(Math.abs(one[i] - start[i])).isCloseTo(0.01f, CLOSE);
        }
        assertThat(alone(graph -> new Adam(graph, 0.01f), 1, 20))
                .containsExactly(alone(graph -> new Adam(graph, 0.01f), 1, 20));
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 1})
    void replicasStayEqual(int interOpThreads) {
        ConfigProto config =
                ConfigProto.newBuilder()
                        .setInterOpParallelismThreads(interOpThreads)
                        .setUsePerSessionThreads(true)
                        .build();
        World.run(
                2,
                comm -> {
                    try (SmallTraining training =
                            new SmallTraining(
                                    distributed(comm, graph -> new Adam(graph, 0.05f), it -> it),
                                    config)) {
                        assertSameOnAllRanks(comm, train(training, comm, 200));
                    }
                });
    }

    @Test
    void gradientsAreAccumulated() {
        World.run(
                2,
                comm -> {
                    try (SmallTraining training =
                                    new SmallTraining(
                                            distributed(
                                                    comm,
                                                    graph -> new Adam(graph, 0.01f),
                                                    it ->
                                                            it.backwardPassesPerStep(3)
                                                                    .averageAccumulated(true)));
                            SmallTraining whole =
                                    new SmallTraining(graph -> new Adam(graph, 0.01f))) {
                        float[] start = training.values();
                        for (int step = 0; step < 4; step++) {
                            for (int pass = 0; pass < 3; pass++) {
                                assertThat(training.values()).containsExactly(start);
                                int from = ((3 * step + pass) * 2 + comm.rank()) * BATCH;
                                training.step(from, from + BATCH);
                            }
                            start = training.values();
                            whole.step(step * 6 * BATCH, (step + 1) * 6 * BATCH);
                            assertThat(start).containsExactly(whole.values(), Offset.offset(1e-4f));
                            assertSameOnAllRanks(comm, start);
                        }
                    }
                });
    }

    @Test
    void adasumCombinesChangesOfVariables() {
        World.run(
                2,
                comm -> {
                    try (SmallTraining training =
                                    new SmallTraining(
                                            distributed(
                                                    comm,
                                                    DistributedOptimizerTest::sgd,
                                                    it -> it.op(ReduceOp.ADASUM)));
                            SmallTraining same = new SmallTraining(DistributedOptimizerTest::sgd)) {
                        float[] start = training.values();
                        // equal changes are averaged
                        training.step(0, BATCH);
                        same.step(0, BATCH);
                        assertThat(training.values()).containsExactly(same.values(), CLOSE);
                        assertThat(training.values()).isNotEqualTo(start);
                        train(training, comm, 3);
                        assertSameOnAllRanks(comm, training.values());
                    }
                });
    }

    @Test
    void localVariablesAreNotReduced() {
        World.run(
                2,
                comm -> {
                    try (SmallTraining training =
                            new SmallTraining(
                                    distributed(
                                            comm,
                                            DistributedOptimizerTest::sgd,
                                            it ->
                                                    it.local("second"::equals)
                                                            .clipByGlobalNorm(1e6f)))) {
                        float[] values = train(training, comm, 1);
                        float[] ofRoot = values.clone();
                        comm.broadcast("values", ofRoot, 0);
                        for (int i = 0; i < 6; i++) {
                            assertThat(values[i]).isEqualTo(ofRoot[i]);
                        }
                        if (comm.rank() == 1) {
                            assertThat(values[6]).isNotEqualTo(ofRoot[6]);
                        }
                    }
                });
    }

    @Test
    void membersOfAProcessSetTrainTogether() {
        float[] pair = alone(DistributedOptimizerTest::sgd, 2, 1);
        World.run(
                3,
                comm -> {
                    ProcessSet ends = comm.addProcessSet(0, 2);
                    try (SmallTraining training =
                            new SmallTraining(
                                    distributed(
                                            comm,
                                            DistributedOptimizerTest::sgd,
                                            it -> it.processSet(ends)))) {
                        int part = comm.rank() == 0 ? 0 : BATCH;
                        training.step(part, part + BATCH);
                        if (comm.rank() == 1) {
                            assertThat(training.values()).isNotEqualTo(pair);
                        } else {
                            assertThat(training.values()).containsExactly(pair, CLOSE);
                        }
                    }
                });
    }

    @Test
    void gradientsAreClippedAfterTheAverage() {
        World.run(
                2,
                comm -> {
                    try (SmallTraining training =
                            new SmallTraining(
                                    distributed(
                                            comm,
                                            graph -> new GradientDescent(graph, 1f),
                                            it -> it.clipByGlobalNorm(0.01f)))) {
                        float[] before = training.values();
                        float[] after = train(training, comm, 1);
                        double squares = 0;
                        for (int i = 0; i < before.length; i++) {
                            squares += Math.pow(after[i] - before[i], 2);
                        }
                        assertThat((float) Math.sqrt(squares)).isCloseTo(0.01f, CLOSE);
                        assertSameOnAllRanks(comm, after);
                    }
                });
    }

    /// The slots of the optimizer are variables too.
    @Test
    void allVariablesAreBroadcast() {
        World.run(
                2,
                comm -> {
                    try (SmallTraining training =
                            new SmallTraining(graph -> new Adam(graph, 0.05f))) {
                        train(training, comm, 3); // each rank for itself
                        Op broadcast = HvdOps.create(training.tf, comm).broadcastGlobalVariables(1);
                        training.session.run(broadcast);
                        assertSameOnAllRanks(comm, training.values());
                        training.step(0, BATCH);
                        assertSameOnAllRanks(comm, training.values());
                    }
                });
    }

    @Test
    void missingVariableFailsTheBroadcastOnAllRanks() {
        World.run(
                2,
                comm -> {
                    try (GraphRun graph = new GraphRun(comm)) {
                        Variable<TFloat32> variable =
                                graph.tf.withName("weights").variable(graph.tf.constant(1f));
                        if (comm.rank() == 1) {
                            Variable<TFloat32> _ =
                                    graph.tf.withName("extra").variable(graph.tf.constant(1f));
                        }
                        Op broadcast = graph.hvd.broadcastGlobalVariables(0);
                        graph.session().initialize();
                        assertThat(variable.op().name()).isEqualTo("weights");
                        assertThatThrownBy(() -> graph.session().run(broadcast))
                                .isInstanceOf(TensorFlowException.class)
                                .hasMessageContaining("rank 1: has 'extra' in addition");
                    }
                });
    }

    @Test
    void wrongUsesAreRefused() {
        try (Graph graph = new Graph()) {
            Ops tf = Ops.create(graph);
            DistributedOptimizer optimizer =
                    DistributedOptimizer.wrap(new GradientDescent(graph, 1f)).build();
            assertThatThrownBy(() -> DistributedOptimizer.wrap(optimizer))
                    .hasMessageContaining("wrap it once");
            assertThatThrownBy(() -> optimizer.minimize(tf.withName("fixed").constant(1f)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("'fixed' depends on no variable");
            assertThatThrownBy(() -> optimizer.minimize(tf.withName("count").constant(1)))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("'count' has type DT_INT32, which has no gradient");
            BiFunction<Graph, Integer, DistributedOptimizer> library =
                    (it, passes) ->
                            DistributedOptimizer.wrap(
                                            new org.tensorflow.framework.optimizers.Adam(it))
                                    .backwardPassesPerStep(passes)
                                    .build();
            assertThat(library.apply(graph, 1).wrapped().getOptimizerName()).isEqualTo("Adam");
            assertThatThrownBy(() -> library.apply(graph, 2))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("org.horovod4j.tensorflow.Adam");
            assertThatThrownBy(() -> HvdOps.create(tf).broadcastGlobalVariables(0))
                    .hasMessageContaining("there are no variables");
            Variable<TFloat32> weight = tf.variable(tf.constant(1f));
            Operand<TFloat32> stopped = tf.withName("stopped").stopGradient(weight);
            assertThatThrownBy(() -> optimizer.minimize(stopped))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("'stopped' depends on no variable");
        }
    }

    @Test
    void variablesWithoutGradientStayAsTheyAre() {
        World.run(
                2,
                comm -> {
                    try (GraphRun run = new GraphRun(comm)) {
                        Variable<TFloat32> weight =
                                run.tf.withName("weight").variable(run.tf.constant(1f));
                        Variable<TFloat32> unused =
                                run.tf.withName("unused").variable(run.tf.constant(5f));
                        Op step =
                                DistributedOptimizer.wrap(new GradientDescent(run.graph, 0.25f))
                                        .communicator(comm)
                                        .build()
                                        .minimize(
                                                run.tf.math.mul(
                                                        weight, run.tf.constant(comm.rank() + 1f)));
                        run.session().initialize();
                        run.session().run(step);
                        List<float[]> values = run.floats(weight, unused);
                        assertThat(values.get(0)).containsExactly(1 - 0.25f * 1.5f);
                        assertThat(values.get(1)).containsExactly(5);
                    }
                });
    }
}
