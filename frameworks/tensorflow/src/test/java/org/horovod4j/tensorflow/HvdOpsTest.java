package org.horovod4j.tensorflow;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.awaitility.Awaitility;
import org.horovod4j.AllreduceOptions;
import org.horovod4j.Communicator;
import org.horovod4j.MismatchException;
import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.ReducescatterOptions;
import org.horovod4j.compression.Compression;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tensorflow.Operand;
import org.tensorflow.OperationBuilder;
import org.tensorflow.Output;
import org.tensorflow.Result;
import org.tensorflow.exceptions.TensorFlowException;
import org.tensorflow.ndarray.Shape;
import org.tensorflow.op.Scope;
import org.tensorflow.op.core.Placeholder;
import org.tensorflow.op.core.Variable;
import org.tensorflow.proto.DataType;
import org.tensorflow.types.TBool;
import org.tensorflow.types.TFloat32;
import org.tensorflow.types.TInt32;
import org.tensorflow.types.TString;
import org.tensorflow.types.family.TType;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.BiConsumer;

/// Ops in the graphs of several ranks, which are threads of this JVM.
class HvdOpsTest {
    private static void run(int size, BiConsumer<GraphRun, Communicator> test) {
        World.run(
                size,
                comm -> {
                    try (GraphRun graph = new GraphRun(comm)) {
                        test.accept(graph, comm);
                    }
                });
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3})
    void allreduceCombinesTheTensorsOfAllRanks(int size) {
        run(
                size,
                (graph, comm) -> {
                    Operand<TFloat32> own =
                            graph.tf.constant(new float[][] {{comm.rank() + 1, 2, 3}});
                    Output<TFloat32> sum = graph.hvd.allreduce(own, ReduceOp.SUM);
                    Output<TFloat32> mean = graph.hvd.allreduce(own, ReduceOp.AVERAGE);
                    Output<TFloat32> max = graph.hvd.allreduce(own, ReduceOp.MAX);
                    Output<TFloat32> min = graph.hvd.allreduce(own, ReduceOp.MIN);
                    Output<TFloat32> product = graph.hvd.allreduce(own, ReduceOp.PRODUCT);
                    assertThat(sum.shape()).isEqualTo(Shape.of(1, 3));
                    float total = size * (size + 1) / 2f;
                    float factorial = size == 3 ? 6 : size;
                    for (int i = 0; i < 5; i++) {
                        List<float[]> values = graph.floats(sum, mean, max, min, product);
                        assertThat(values.get(0)).containsExactly(total, 2 * size, 3 * size);
                        assertThat(values.get(1)).containsExactly(total / size, 2, 3);
                        assertThat(values.get(2)).containsExactly(size, 2, 3);
                        assertThat(values.get(3)).containsExactly(1, 2, 3);
                        assertThat(values.get(4)[0]).isEqualTo(factorial);
                    }
                });
    }

    @Test
    void optionsOfAllreduceAreHonoured() {
        run(
                3,
                (graph, comm) -> {
                    ProcessSet ends = comm.addProcessSet(0, 2);
                    Operand<TFloat32> own = graph.tf.constant(new float[] {comm.rank() + 1});
                    Output<TFloat32> scaled =
                            graph.hvd.allreduce(
                                    own,
                                    AllreduceOptions.sum().withPrescale(0.5).withPostscale(10));
                    Output<TFloat32> compressed =
                            graph.hvd.allreduce(
                                    own, AllreduceOptions.sum().withCompressor(Compression.FP16));
                    List<float[]> values = graph.floats(scaled, compressed);
                    assertThat(values.get(0)).containsExactly(30);
                    assertThat(values.get(1)).containsExactly(6);
                    if (comm.rank() != 1) {
                        Output<TFloat32> inSet =
                                graph.hvd.allreduce(own, AllreduceOptions.sum().in(ends));
                        Output<TFloat32> gathered = graph.hvd.in(ends).allgather(own);
                        Output<TInt32> rank = graph.hvd.in(ends).rank();
                        assertThat(graph.floats(inSet).getFirst()).containsExactly(4);
                        assertThat(graph.floats(gathered).getFirst()).containsExactly(1, 3);
                        assertThat(graph.ints(rank)).containsExactly(comm.rank() / 2);
                    }
                });
    }

    @Test
    void groupIsReducedTogether() {
        run(
                2,
                (graph, comm) -> {
                    List<Operand<TFloat32>> own = new ArrayList<>();
                    for (int i = 0; i < 5; i++) {
                        own.add(graph.tf.constant(new float[] {comm.rank(), i}));
                    }
                    List<Output<TFloat32>> sums = graph.hvd.groupedAllreduce(own, ReduceOp.SUM);
                    List<float[]> values = graph.floats(sums.toArray(Operand<?>[]::new));
                    for (int i = 0; i < 5; i++) {
                        assertThat(values.get(i)).containsExactly(1, 2 * i);
                    }
                });
    }

    /// Hundreds of collectives in one run, more than TensorFlow has threads.
    @Test
    void manyCollectivesAreInFlightAtOnce() {
        run(
                2,
                (graph, comm) -> {
                    List<Operand<TFloat32>> sums = new ArrayList<>();
                    for (int i = 0; i < 300; i++) {
                        float[] own = new float[i % 7];
                        Arrays.fill(own, comm.rank() + i);
                        sums.add(graph.hvd.allreduce(graph.tf.constant(own), ReduceOp.SUM));
                    }
                    for (int step = 0; step < 3; step++) {
                        List<float[]> values = graph.floats(sums.toArray(Operand<?>[]::new));
                        for (int i = 0; i < 300; i++) {
                            assertThat(values.get(i)).hasSize(i % 7).containsOnly(expected(i));
                        }
                    }
                });
    }

    private static float[] expected(int i) {
        return i % 7 == 0 ? new float[0] : new float[] {2 * i + 1};
    }

    @Test
    void rowsOfAllRanksAreGathered() {
        run(
                3,
                (graph, comm) -> {
                    float[][] own = new float[comm.rank()][2];
                    for (float[] row : own) {
                        Arrays.fill(row, comm.rank());
                    }
                    Placeholder<TFloat32> input =
                            graph.tf.placeholder(
                                    TFloat32.class, Placeholder.shape(Shape.of(-1, 2)));
                    Output<TFloat32> all = graph.hvd.allgather(input);
                    assertThat(all.shape().asArray()).containsExactly(Shape.UNKNOWN_SIZE, 2);
                    try (TFloat32 rows =
                                    TFloat32.tensorOf(
                                            Shape.of(comm.rank(), 2),
                                            tensor -> {
                                                for (int i = 0; i < own.length; i++) {
                                                    tensor.setFloat(own[i][0], i, 0);
                                                    tensor.setFloat(own[i][1], i, 1);
                                                }
                                            });
                            Result result =
                                    graph.session().runner().feed(input, rows).fetch(all).run()) {
                        assertThat(result.get(0).shape()).isEqualTo(Shape.of(3, 2));
                        assertThat(GraphRun.floats(result.get(0)))
                                .containsExactly(1, 1, 2, 2, 2, 2);
                    }
                });
    }

    @Test
    void broadcastReturnsTheTensorOfTheRoot() {
        run(
                3,
                (graph, comm) -> {
                    Operand<TFloat32> own = graph.tf.constant(new float[] {comm.rank(), 7});
                    Output<TFloat32> fromLast = graph.hvd.broadcast(own, 2);
                    Output<TFloat32> fromFirst = graph.hvd.broadcast(own, 0);
                    List<float[]> values = graph.floats(fromLast, fromFirst, own);
                    assertThat(values.get(0)).containsExactly(2, 7);
                    assertThat(values.get(1)).containsExactly(0, 7);
                    assertThat(values.get(2)).containsExactly(comm.rank(), 7);
                });
    }

    @Test
    void rowsAreSentToEachRank() {
        run(
                2,
                (graph, comm) -> {
                    Operand<TFloat32> own =
                            graph.tf.constant(new float[][] {{comm.rank()}, {10}, {20}});
                    HvdOps.AlltoallOutputs<TFloat32> uneven =
                            graph.hvd.alltoall(own, graph.tf.constant(new int[] {1, 2}));
                    Output<TFloat32> even =
                            graph.hvd.alltoall(
                                    graph.tf.constant(new float[] {comm.rank(), comm.rank() + 5}));
                    assertThat(graph.floats(uneven.output()).getFirst())
                            .containsExactly(
                                    comm.rank() == 0
                                            ? new float[] {0, 1}
                                            : new float[] {10, 20, 10, 20});
                    assertThat(graph.ints(uneven.receivedSplits()))
                            .containsExactly(comm.rank() + 1, comm.rank() + 1);
                    assertThat(graph.floats(even).getFirst())
                            .containsExactly(
                                    comm.rank() == 0 ? new float[] {0, 1} : new float[] {5, 6});
                });
    }

    @Test
    void reducescatterReturnsTheRowsOfThisRank() {
        run(
                2,
                (graph, comm) -> {
                    Operand<TFloat32> own =
                            graph.tf.constant(new float[][] {{comm.rank()}, {10}, {20}});
                    Output<TFloat32> sum = graph.hvd.reducescatter(own, ReduceOp.SUM);
                    Output<TFloat32> scaled =
                            graph.hvd.reducescatter(
                                    own, ReducescatterOptions.average().withPostscale(2));
                    List<float[]> values = graph.floats(sum, scaled);
                    float[] expected = comm.rank() == 0 ? new float[] {1, 20} : new float[] {40};
                    assertThat(values.get(0)).containsExactly(expected);
                    assertThat(values.get(1)).containsExactly(expected);
                });
    }

    @Test
    void numbersBarrierAndJoinAreOps() {
        run(
                3,
                (graph, comm) -> {
                    assertThat(graph.ints(graph.hvd.rank())).containsExactly(comm.rank());
                    assertThat(graph.ints(graph.hvd.size())).containsExactly(3);
                    assertThat(graph.ints(graph.hvd.localRank())).containsExactly(comm.localRank());
                    assertThat(graph.ints(graph.hvd.localSize())).containsExactly(comm.localSize());
                    graph.session().run(graph.hvd.barrier());
                    Output<TFloat32> sum =
                            graph.hvd.allreduce(graph.tf.constant(new float[] {1}), ReduceOp.SUM);
                    if (comm.rank() != 0) {
                        assertThat(graph.floats(sum).getFirst()).containsExactly(2);
                    }
                    assertThat(graph.ints(graph.hvd.join())[0]).isBetween(0, 2);
                });
    }

    /// TensorFlow Java has no classes for some of them.
    @Test
    void allNumericTypesAreReduced() {
        run(
                2,
                (graph, comm) -> {
                    for (DataType type :
                            List.of(
                                    DataType.DT_HALF,
                                    DataType.DT_BFLOAT16,
                                    DataType.DT_DOUBLE,
                                    DataType.DT_INT8,
                                    DataType.DT_INT16,
                                    DataType.DT_INT32,
                                    DataType.DT_INT64,
                                    DataType.DT_UINT8,
                                    DataType.DT_UINT16)) {
                        assertThat(sumAs(graph, type, comm.rank())).containsExactly(3, 9);
                    }
                    Operand<TBool> either =
                            graph.hvd.allreduce(
                                    graph.tf.constant(new boolean[] {comm.rank() == 1, false}),
                                    ReduceOp.SUM);
                    assertThat(
                                    graph.floats(graph.tf.dtypes.cast(either, TFloat32.class))
                                            .getFirst())
                            .containsExactly(1, 0);
                });
    }

    private static float[] sumAs(GraphRun graph, DataType type, int rank) {
        Output<TType> own = cast(graph, graph.tf.constant(new float[] {1 + rank, 4 + rank}), type);
        return graph.floats(cast(graph, graph.hvd.allreduce(own, ReduceOp.SUM), DataType.DT_FLOAT))
                .getFirst();
    }

    private static Output<TType> cast(GraphRun graph, Operand<?> input, DataType type) {
        Scope scope = graph.tf.scope();
        OperationBuilder builder = graph.graph.opBuilder("Cast", scope.makeOpName("Cast"), scope);
        builder.addInput(input.asOutput());
        builder.setAttr("DstT", type);
        return builder.build().output(0);
    }

    @Test
    void disagreementFailsTheRunAndTheSessionStaysUsable() {
        run(
                2,
                (graph, comm) -> {
                    Operand<TFloat32> own = graph.tf.constant(new float[comm.rank() == 0 ? 3 : 4]);
                    Output<TFloat32> wrong =
                            graph.hvd.withName("wrong").allreduce(own, ReduceOp.SUM);
                    Output<TFloat32> right =
                            graph.hvd.allreduce(graph.tf.constant(new float[] {1}), ReduceOp.SUM);
                    for (int i = 0; i < 3; i++) {
                        assertThatThrownBy(() -> graph.floats(wrong))
                                .isInstanceOf(TensorFlowException.class)
                                .hasMessageContaining("allreduce of 'wrong'")
                                .hasMessageContaining("[3] on rank 0")
                                .satisfies(
                                        e ->
                                                assertThat(
                                                                HvdTensorFlow.failure(
                                                                        (TensorFlowException) e))
                                                        .containsInstanceOf(
                                                                MismatchException.class));
                        assertThat(graph.floats(right).getFirst()).containsExactly(2);
                    }
                });
    }

    @Test
    void wrongArgumentsAreRefusedWhileTheGraphIsBuilt() {
        run(
                1,
                (graph, _) -> {
                    Operand<TString> text = graph.tf.withName("text").constant("a");
                    assertThatThrownBy(() -> graph.hvd.broadcast(text, 0))
                            .isInstanceOf(IllegalArgumentException.class)
                            .hasMessageContaining("'text' has type DT_STRING");
                    Operand<TFloat32> scalar = graph.tf.withName("loss").constant(1f);
                    assertThatThrownBy(() -> graph.hvd.allgather(scalar))
                            .isInstanceOf(IllegalArgumentException.class)
                            .hasMessageContaining("a scalar has no rows");
                    assertThatThrownBy(
                                    () ->
                                            graph.hvd.groupedAllreduce(
                                                    List.<Operand<TFloat32>>of(), ReduceOp.SUM))
                            .isInstanceOf(IllegalArgumentException.class)
                            .hasMessageContaining("at least one tensor");
                });
    }

    @Test
    void variablesAreReduced() {
        run(
                2,
                (graph, comm) -> {
                    Variable<TFloat32> variable =
                            graph.tf.variable(graph.tf.constant(new float[] {comm.rank(), 3}));
                    Output<TFloat32> sum = graph.hvd.allreduce(variable, ReduceOp.SUM);
                    graph.session().initialize();
                    List<float[]> values = graph.floats(sum, variable);
                    assertThat(values.get(0)).containsExactly(1, 6);
                    assertThat(values.get(1)).containsExactly(comm.rank(), 3);
                });
    }

    @Test
    void tensorsOfSessionsAreReducedOutsideTheGraph() {
        run(
                2,
                (_, comm) -> {
                    try (TFloat32 values = TFloat32.vectorOf(comm.rank(), 5)) {
                        comm.allreduce("fetched", HvdTensorFlow.view(values), ReduceOp.SUM);
                        assertThat(GraphRun.floats(values)).containsExactly(1, 10);
                    }
                    try (TString text = TString.scalarOf("a")) {
                        assertThatThrownBy(() -> HvdTensorFlow.view(text))
                                .isInstanceOf(IllegalArgumentException.class)
                                .hasMessageContaining("DT_STRING");
                    }
                });
    }

    /// So a warning about a stall names it too.
    @Test
    void stateOfTheJobNamesANodeThatOneRankRuns() {
        run(
                2,
                (graph, comm) -> {
                    Output<TFloat32> sum =
                            graph.hvd
                                    .withName("lonely")
                                    .allreduce(graph.tf.constant(new float[] {1}), ReduceOp.SUM);
                    if (comm.rank() == 1) {
                        Awaitility.await()
                                .atMost(Duration.ofMinutes(1))
                                .until(
                                        () ->
                                                comm.describeState()
                                                        .contains("allreduce of 'lonely'"));
                    }
                    assertThat(graph.floats(sum).getFirst()).containsExactly(2);
                });
    }
}
