package org.horovod4j.dl4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.data.Offset;
import org.horovod4j.Communicator;
import org.horovod4j.MismatchException;
import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.compression.Compression;
import org.horovod4j.dl4j.training.Dl4jState;
import org.horovod4j.optim.GradientSettings;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.autodiff.listeners.impl.ScoreListener;
import org.nd4j.autodiff.samediff.SDVariable;
import org.nd4j.autodiff.samediff.SameDiff;
import org.nd4j.autodiff.samediff.TrainingConfig;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Sgd;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// A SameDiff graph on ranks that are threads of this JVM.
class SameDiffTest {
    private static final Offset<Float> CLOSE = Offset.offset(1e-5f);
    private static final int STEPS = 5;

    private static SameDiff graph(double start) {
        return TestGraph.create(start);
    }

    private static float[] values(SameDiff graph) {
        return TestGraph.values(graph);
    }

    private static DataSet batch(int from, int to) {
        return TestNetwork.DENSE.batch(from, to);
    }

    /// Trains the same graph on two ranks.
    private static List<float[]> train(
            Consumer<GradientSettings.Builder> options, BiConsumer<Communicator, SameDiff> steps) {
        List<float[]> ranks =
                World.of(2)
                        .call(
                                comm -> {
                                    SameDiff graph =
                                            HvdDl4j.distributed(
                                                    graph(0), comm.processSet(), options);
                                    steps.accept(comm, graph);
                                    return values(graph);
                                });
        assertThat(ranks.getFirst()).as("bits").containsExactly(ranks.getLast());
        return ranks;
    }

    private static float[] alone(DataSet... batches) {
        SameDiff graph = graph(0);
        for (DataSet batch : batches) {
            graph.fit(batch);
        }
        return values(graph);
    }

    /// With batches of different sizes too: each sample counts alike.
    @ParameterizedTest
    @ValueSource(ints = {4, 7})
    void twoRanksTrainAsOneProcess(int first) {
        List<float[]> ranks =
                World.of(2)
                        .call(
                                comm -> {
                                    SameDiff graph = graph(comm.rank());
                                    HvdDl4j.broadcastParameters(comm, graph, 0);
                                    HvdDl4j.distributed(graph, comm.processSet(), _ -> {});
                                    for (int i = 0; i < STEPS; i++) {
                                        graph.fit(
                                                comm.rank() == 0
                                                        ? batch(8 * i, 8 * i + first)
                                                        : batch(8 * i + first, 8 * i + 8));
                                    }
                                    return values(graph);
                                });
        SameDiff alone = graph(0);
        for (int i = 0; i < STEPS; i++) {
            alone.fit(batch(8 * i, 8 * i + 8));
        }
        assertThat(ranks.getFirst()).as("bits").containsExactly(ranks.getLast());
        assertThat(ranks.getFirst()).containsExactly(values(alone), CLOSE);
        assertThat(values(alone)).isNotEqualTo(values(graph(0)));
    }

    /// Each rank computes changes from its own batches and the state of its own updater.
    @Test
    void adasumCombinesTheChangesOfEachVariable() {
        List<float[]> ranks =
                train(
                        options -> options.op(ReduceOp.ADASUM),
                        (comm, graph) -> {
                            for (int i = 0; i < STEPS; i++) {
                                graph.fit(
                                        batch(
                                                8 * i + 4 * comm.rank(),
                                                8 * i + 4 * comm.rank() + 4));
                            }
                        });
        List<SameDiff> alone = List.of(graph(0), graph(0));
        for (int i = 0; i < STEPS; i++) {
            Map<String, INDArray> before = copies(alone.getFirst());
            alone.getFirst().fit(batch(8 * i, 8 * i + 4));
            alone.getLast().fit(batch(8 * i + 4, 8 * i + 8));
            before.forEach(
                    (name, start) -> {
                        INDArray first = alone.getFirst().getVariable(name).getArr();
                        INDArray second = alone.getLast().getVariable(name).getArr();
                        INDArray next =
                                start.add(NaiveAdasum.of(first.sub(start), second.sub(start)));
                        first.assign(next);
                        second.assign(next);
                    });
        }
        assertThat(ranks.getFirst()).containsExactly(values(alone.getFirst()), CLOSE);
    }

    private static Map<String, INDArray> copies(SameDiff graph) {
        return Stream.of("w1", "b1", "w2")
                .collect(Collectors.toMap(it -> it, it -> graph.getVariable(it).getArr().dup()));
    }

    @Test
    void otherListenersKeepTheWeightsOfBatches() {
        List<float[]> ranks =
                train(
                        _ -> {},
                        (comm, graph) -> {
                            graph.setListeners(new ScoreListener(1000));
                            graph.fit(batch(4 * comm.rank(), 4 * comm.rank() + 4));
                            graph.fit(comm.rank() == 0 ? batch(8, 15) : batch(15, 16));
                        });
        assertThat(ranks.getFirst()).containsExactly(alone(batch(0, 8), batch(8, 16)), CLOSE);
    }

    /// In the first step a rank does not know the size of its batch, so all batches have the same weight.
    @Test
    void oneRankMayReplaceItsListeners() {
        List<float[]> ranks =
                train(
                        _ -> {},
                        (comm, graph) -> {
                            graph.fit(batch(4 * comm.rank(), 4 * comm.rank() + 4));
                            if (comm.rank() == 1) {
                                graph.setListeners(new ScoreListener(1000));
                            }
                            graph.fit(batch(8 + 4 * comm.rank(), 12 + 4 * comm.rank()));
                            graph.fit(comm.rank() == 0 ? batch(16, 23) : batch(23, 24));
                        });
        assertThat(ranks.getFirst())
                .containsExactly(alone(batch(0, 8), batch(8, 16), batch(16, 24)), CLOSE);
    }

    /// As if one rank has read the variable from a file.
    @Test
    void aVariableMayHaveAnotherOrderOnOneRank() {
        List<float[]> ranks =
                World.of(2)
                        .call(
                                comm -> {
                                    SameDiff graph = graph(comm.rank());
                                    if (comm.rank() == 1) {
                                        SDVariable weights = graph.getVariable("w1");
                                        weights.setArray(weights.getArr().dup('f'));
                                    }
                                    HvdDl4j.broadcastParameters(comm, graph, 0);
                                    assertThat(values(graph)).containsExactly(values(graph(0)));
                                    HvdDl4j.distributed(graph, comm.processSet(), _ -> {});
                                    graph.fit(batch(4 * comm.rank(), 4 * comm.rank() + 4));
                                    return values(graph);
                                });
        assertThat(ranks.getFirst()).containsExactly(ranks.getLast());
        assertThat(ranks.getFirst()).containsExactly(alone(batch(0, 8)), CLOSE);
    }

    @Test
    void variablesOfAnotherShapeAreReported() {
        World.run(
                2,
                comm -> {
                    SameDiff graph = SameDiff.create();
                    SDVariable weights =
                            graph.var("w", Nd4j.ones(2 + comm.rank(), 3 - comm.rank()));
                    SDVariable input = graph.placeHolder("input", DataType.FLOAT, -1, 1);
                    weights.mul(weights).mean().add("loss", input.mean());
                    graph.setLossVariables("loss");
                    graph.setTrainingConfig(
                            new TrainingConfig.Builder()
                                    .updater(new Sgd(0.1))
                                    .dataSetFeatureMapping("input")
                                    .markLabelsUnused()
                                    .build());
                    assertThatThrownBy(() -> HvdDl4j.broadcastParameters(comm, graph, 0))
                            .isInstanceOf(MismatchException.class)
                            .hasMessageContaining("'w'");
                });
    }

    /// The updates of Adam depend on the number of earlier ones.
    @Test
    void aBroadcastSendsTheStateOfUpdatersAndTheCounts() {
        List<float[]> ranks =
                World.of(2)
                        .call(
                                comm -> {
                                    SameDiff graph = graph(comm.rank());
                                    if (comm.rank() == 0) {
                                        graph.fit(batch(0, 4));
                                        graph.fit(batch(4, 8));
                                    }
                                    HvdDl4j.broadcastParameters(comm, graph, 0);
                                    assertThat(graph.getTrainingConfig().getIterationCount())
                                            .isEqualTo(2);
                                    HvdDl4j.distributed(graph, comm.processSet(), _ -> {});
                                    graph.fit(batch(8, 12));
                                    return values(graph);
                                });
        assertThat(ranks.getFirst()).containsExactly(ranks.getLast());
        assertThat(ranks.getFirst())
                .containsExactly(alone(batch(0, 4), batch(4, 8), batch(8, 12)), CLOSE);
    }

    @Test
    void processSetsTrainDifferentGraphs() {
        List<float[]> ranks =
                World.of(3)
                        .call(
                                comm -> {
                                    ProcessSet pair = comm.addProcessSet(0, 2);
                                    SameDiff graph = HvdDl4j.distributed(graph(0), pair, _ -> {});
                                    graph.fit(batch(4 * comm.rank(), 4 * comm.rank() + 4));
                                    return values(graph);
                                });
        assertThat(ranks.get(0)).containsExactly(ranks.get(2)).isNotEqualTo(ranks.get(1));
        assertThat(ranks.get(1)).containsExactly(alone(batch(4, 8)));
    }

    @Test
    void compressedGradientsAreClose() {
        List<float[]> ranks =
                train(
                        options -> options.compressor(Compression.FP16),
                        (comm, graph) -> graph.fit(batch(4 * comm.rank(), 4 * comm.rank() + 4)));
        List<float[]> uncompressed =
                train(
                        _ -> {},
                        (comm, graph) -> graph.fit(batch(4 * comm.rank(), 4 * comm.rank() + 4)));
        assertThat(ranks.getFirst())
                .containsExactly(alone(batch(0, 8)), Offset.offset(1e-3f))
                .isNotEqualTo(uncompressed.getFirst());
    }

    @Test
    void aStateReturnsToItsCommit() {
        World.run(
                2,
                comm -> {
                    SameDiff graph =
                            HvdDl4j.distributed(graph(comm.rank()), comm.processSet(), _ -> {});
                    Dl4jState state = new Dl4jState(graph);
                    state.sync(comm, 1);
                    graph.fit(batch(0, 4));
                    state.commit();
                    float[] committed = values(graph);
                    graph.fit(batch(4, 8));
                    float[] next = values(graph);
                    state.restore();
                    assertThat(values(graph)).containsExactly(committed);
                    assertThat(graph.getTrainingConfig().getIterationCount()).isEqualTo(1);
                    graph.fit(batch(4, 8));
                    assertThat(values(graph))
                            .as("moments and counts are restored too")
                            .containsExactly(next);
                });
    }

    @Test
    void aForgottenBroadcastNamesTheVariable() {
        World.run(
                2,
                comm -> {
                    SameDiff graph =
                            HvdDl4j.distributed(graph(comm.rank()), comm.processSet(), _ -> {});
                    assertThatThrownBy(() -> graph.fit(batch(0, 4)))
                            .isInstanceOf(MismatchException.class)
                            .hasMessageContaining("the ranks start with different parameters")
                            .hasMessageContaining("'w");
                });
    }

    @Test
    void aGraphIsSavedWithoutHorovod(@TempDir Path folder) {
        World.run(
                1,
                comm -> {
                    SameDiff graph = HvdDl4j.distributed(graph(0), comm.processSet(), _ -> {});
                    graph.fit(batch(0, 4));
                    graph.save(folder.resolve("graph.fb").toFile(), true);
                    SameDiff loaded = SameDiff.load(folder.resolve("graph.fb").toFile(), true);
                    assertThat(values(loaded)).containsExactly(values(graph));
                    graph.fit(batch(4, 8));
                    loaded.fit(batch(4, 8));
                    assertThat(values(loaded)).containsExactly(values(graph));
                });
    }

    @Test
    void aGraphWithoutTrainingConfigurationIsRejected() {
        World.run(
                1,
                comm ->
                        assertThatThrownBy(
                                        () ->
                                                HvdDl4j.distributed(
                                                        SameDiff.create(),
                                                        comm.processSet(),
                                                        _ -> {}))
                                .hasMessageContaining("call setTrainingConfig first"));
    }
}
