package org.horovod4j.tensorflow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.horovod4j.compression.Compression;
import org.horovod4j.launcher.Launcher;
import org.horovod4j.tensorflow.training.TrainingSession;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Output;
import org.tensorflow.framework.optimizers.Momentum;
import org.tensorflow.op.Op;
import org.tensorflow.op.Ops;
import org.tensorflow.types.TFloat32;
import org.tensorflow.types.TInt32;

import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/// Two processes in which our ops are not registered: collectives run between two runs of the graph.
class FetchAndFeedIT {
    private static final Map<String, String> FETCH = Map.of("HOROVOD_TENSORFLOW_KERNELS", "fetch");

    @Test
    void collectivesRunBetweenTwoRuns() {
        Launcher.processes(2)
                .jvmOptions(TestJvm.SHORT_LIVED)
                .options(FETCH)
                .execute(FetchAndFeedIT::useOps);
    }

    private static void useOps(Communicator comm) {
        try (GraphRun graph = new GraphRun(comm)) {
            Operand<TFloat32> own = graph.tf.constant(new float[] {1 + comm.rank(), 5});
            Output<TFloat32> sum = graph.hvd.allreduce(own, ReduceOp.SUM);
            List<Output<TFloat32>> group =
                    graph.hvd.groupedAllreduce(List.of(own, own), ReduceOp.AVERAGE);
            Output<TFloat32> all = graph.hvd.allgather(own);
            HvdOps.AlltoallOutputs<TFloat32> exchanged =
                    graph.hvd.alltoall(own, graph.tf.constant(new int[] {1, 1}));
            Output<TFloat32> root = graph.hvd.broadcast(own, 1);
            Output<TInt32> rank = graph.hvd.rank();
            assertThat(sum.shape().asArray()).containsExactly(2);
            assertThat(all.shape().asArray()).containsExactly(-1);
            PreparedRun run =
                    PreparedRun.of(
                            graph.session(),
                            List.of(
                                    sum,
                                    graph.tf.math.neg(group.get(1)),
                                    own,
                                    all,
                                    exchanged.output(),
                                    exchanged.receivedSplits(),
                                    root,
                                    rank),
                            List.of(graph.hvd.barrier()));
            AtomicInteger calls = new AtomicInteger();
            for (int i = 0; i < 3; i++) {
                try (PreparedRun.Values values = run.run(_ -> calls.incrementAndGet())) {
                    assertThat(GraphRun.floats(values.get(0))).containsExactly(3, 10);
                    assertThat(GraphRun.floats(values.get(1))).containsExactly(-1.5f, -5);
                    assertThat(GraphRun.floats(values.get(2))).containsExactly(1 + comm.rank(), 5);
                    assertThat(GraphRun.floats(values.get(3))).containsExactly(1, 5, 2, 5);
                    assertThat(GraphRun.floats(values.get(4)))
                            .containsExactly(
                                    comm.rank() == 0 ? new float[] {1, 2} : new float[] {5, 5});
                    assertThat(((TInt32) values.get(5)).getInt(1)).isEqualTo(1);
                    assertThat(GraphRun.floats(values.get(6))).containsExactly(2, 5);
                    assertThat(((TInt32) values.get(7)).getInt()).isEqualTo(comm.rank());
                }
            }
            assertThat(calls).as("one batch for each run").hasValue(3);
            runWithoutInputs(graph, comm);
            assertWrongUses(graph, comm, own, sum);
            assertRefusedVariable(graph);
        }
    }

    private static void runWithoutInputs(GraphRun graph, Communicator comm) {
        PreparedRun.of(graph.session(), graph.hvd.barrier()).run();
        PreparedRun numbers =
                PreparedRun.of(
                        graph.session(),
                        List.of(graph.hvd.rank(), graph.hvd.size(), graph.hvd.join()),
                        List.of());
        try (PreparedRun.Values values = numbers.run(_ -> {})) {
            assertThat(((TInt32) values.get(0)).getInt()).isEqualTo(comm.rank());
            assertThat(((TInt32) values.get(1)).getInt()).isEqualTo(2);
            assertThat(((TInt32) values.get(2)).getInt()).isBetween(0, 1);
        }
    }

    /// The read is ordered before the assignment, which would run first.
    private static void assertRefusedVariable(GraphRun graph) {
        Operand<TFloat32> variable = graph.tf.withName("count").variable(graph.tf.constant(1f));
        Operand<TFloat32> before = graph.tf.identity(variable);
        Op assign =
                graph.tf
                        .withControlDependencies(List.of(before))
                        .assignAdd(variable, graph.tf.constant(1f));
        Output<TFloat32> sum = graph.hvd.allreduce(graph.tf.constant(1f), ReduceOp.SUM);
        assertThatThrownBy(
                        () ->
                                PreparedRun.of(
                                        graph.session(),
                                        List.of(graph.tf.math.add(before, sum)),
                                        List.of(assign)))
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContaining(
                        "'count' is assigned before the collectives and read after them");
    }

    private static void assertWrongUses(
            GraphRun graph, Communicator comm, Operand<TFloat32> own, Output<TFloat32> sum) {
        assertThatThrownBy(() -> graph.floats(sum))
                .hasMessageContaining("is a collective, which cannot run inside a graph here")
                .hasMessageContaining("fetch and feed: set by HOROVOD_TENSORFLOW_KERNELS")
                .hasMessageContaining("PreparedRun");
        assertThatThrownBy(
                        () ->
                                graph.graph.addGradients(
                                        graph.tf.math.mul(sum, sum).asOutput(),
                                        new Output<?>[] {own.asOutput()}))
                .hasMessageContaining("No gradient defined for op: DeepCopy");
        assertThatThrownBy(
                        () ->
                                PreparedRun.of(
                                        graph.session(),
                                        List.of(graph.hvd.allreduce(sum, ReduceOp.SUM)),
                                        List.of()))
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContaining("a collective depends on the result of '");
        Operand<TFloat32> noise =
                graph.tf.random.randomUniform(graph.tf.constant(new int[] {2}), TFloat32.class);
        assertThatThrownBy(
                        () ->
                                PreparedRun.of(
                                        graph.session(),
                                        List.of(
                                                graph.tf.math.add(
                                                        noise,
                                                        graph.hvd.allreduce(noise, ReduceOp.SUM))),
                                        List.of()))
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContaining("' would run twice");
        Output<TFloat32> wrong =
                graph.hvd
                        .withName("wrong")
                        .allreduce(graph.tf.constant(new float[1 + comm.rank()]), ReduceOp.SUM);
        Output<TFloat32> alsoWrong =
                graph.hvd
                        .withName("also_wrong")
                        .allreduce(graph.tf.constant(new float[1 + comm.rank()]), ReduceOp.SUM);
        PreparedRun failing = PreparedRun.of(graph.session(), List.of(), List.of(wrong, alsoWrong));
        assertThatThrownBy(failing::run)
                .satisfies(
                        failure ->
                                assertThat(
                                                List.of(
                                                        failure.getMessage(),
                                                        failure.getSuppressed()[0].getMessage()))
                                        .anyMatch(text -> text.contains("allreduce of 'wrong'"))
                                        .anyMatch(
                                                text ->
                                                        text.contains(
                                                                "allreduce of 'also_wrong'")));
        assertThatThrownBy(
                        () ->
                                HvdTensorFlow.distributed(
                                        new Momentum(graph.graph, 0.1f, 0.9f),
                                        options -> options.backwardPassesPerStep(2)))
                .isInstanceOf(UnsupportedOperationException.class)
                .hasMessageContaining("backwardPassesPerStep needs collectives inside the graph");
    }

    /// A session that stays open blocks the end of its graph.
    @Test
    @Timeout(value = 2, unit = TimeUnit.MINUTES)
    void refusedTrainingSessionIsClosed() {
        Launcher.processes(1)
                .jvmOptions(TestJvm.SHORT_LIVED)
                .options(FETCH)
                .execute(FetchAndFeedIT::startRefusedTraining);
    }

    private static void startRefusedTraining(Communicator comm) {
        try (Graph graph = new Graph()) {
            Ops tf = Ops.create(graph);
            HvdOps hvd = HvdOps.create(tf, comm);
            Output<TFloat32> sum =
                    hvd.allreduce(hvd.allreduce(tf.constant(1f), ReduceOp.SUM), ReduceOp.SUM);
            Operand<TFloat32> variable = tf.variable(tf.constant(0f));
            TrainingSession.Builder training =
                    TrainingSession.of(graph, tf.assignAdd(variable, sum));
            assertThatThrownBy(training::start)
                    .hasMessageContaining("a collective depends on the result of '")
                    .hasMessageContaining("(fetch and feed: set by HOROVOD_TENSORFLOW_KERNELS)");
        }
    }

    @Test
    void trainsAsWithOps() {
        List<float[]> fetched = train("fetch");
        List<float[]> inGraph = train("auto");
        assertThat(fetched.get(0)).containsExactly(fetched.get(1)).containsExactly(inGraph.get(0));
    }

    private static List<float[]> train(String kernels) {
        return Launcher.processes(2)
                .jvmOptions(TestJvm.SHORT_LIVED)
                .options(Map.of("HOROVOD_TENSORFLOW_KERNELS", kernels))
                .run(FetchAndFeedIT::train);
    }

    private static float[] train(Communicator comm) {
        try (SmallTraining training =
                new SmallTraining(
                        graph ->
                                HvdTensorFlow.distributed(
                                        new Adam(graph, 0.01f * Hvd.size()),
                                        options ->
                                                options.groups(1)
                                                        .compression(Compression.FP16)
                                                        .clipByGlobalNorm(0.1f)))) {
            Op broadcast = HvdTensorFlow.broadcastGlobalVariables(training.graph, 0);
            PreparedRun.of(training.session, broadcast).run();
            for (int i = 0; i < 20; i++) {
                int from = (2 * i + comm.rank()) * 4;
                training.step(from, from + 4);
            }
            return training.values();
        }
    }
}
