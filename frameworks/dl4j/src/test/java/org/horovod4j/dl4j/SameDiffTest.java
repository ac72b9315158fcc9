package org.horovod4j.dl4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.data.Offset;
import org.horovod4j.MismatchException;
import org.horovod4j.ReduceOp;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nd4j.autodiff.samediff.SDVariable;
import org.nd4j.autodiff.samediff.SameDiff;
import org.nd4j.autodiff.samediff.TrainingConfig;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;

import java.nio.file.Path;
import java.util.List;

/// A SameDiff graph on ranks that are threads of this JVM.
class SameDiffTest {
    private static final Offset<Float> CLOSE = Offset.offset(1e-5f);
    private static final int STEPS = 5;

    private static SameDiff graph(double start) {
        SameDiff graph = SameDiff.create();
        SDVariable input = graph.placeHolder("input", DataType.FLOAT, -1, TestNetwork.INPUTS);
        SDVariable label = graph.placeHolder("label", DataType.FLOAT, -1, TestNetwork.OUTPUTS);
        SDVariable hidden =
                graph.math()
                        .tanh(
                                input.mmul(weights(graph, "w1", start, TestNetwork.INPUTS, 3))
                                        .add(graph.var("b1", Nd4j.zeros(3))));
        SDVariable output = hidden.mmul(weights(graph, "w2", start, 3, TestNetwork.OUTPUTS));
        graph.loss.meanSquaredError("loss", label, output, null);
        graph.setLossVariables("loss");
        graph.setTrainingConfig(
                new TrainingConfig.Builder()
                        .updater(new Adam(0.01))
                        .l2(0.01)
                        .dataSetFeatureMapping("input")
                        .dataSetLabelMapping("label")
                        .build());
        return graph;
    }

    private static SDVariable weights(
            SameDiff graph, String name, double start, int rows, int columns) {
        return graph.var(
                name,
                Nd4j.linspace(DataType.FLOAT, start, 0.1, (long) rows * columns)
                        .reshape(rows, columns));
    }

    private static float[] values(SameDiff graph) {
        return Nd4j.concat(
                        0,
                        graph.getVariable("w1").getArr().reshape(-1),
                        graph.getVariable("b1").getArr().reshape(-1),
                        graph.getVariable("w2").getArr().reshape(-1))
                .toFloatVector();
    }

    private static DataSet batch(int from, int to) {
        return TestNetwork.DENSE.batch(from, to);
    }

    @Test
    void twoRanksTrainAsOneProcess() {
        List<float[]> ranks =
                World.of(2)
                        .call(
                                comm -> {
                                    SameDiff graph = graph(comm.rank());
                                    HvdDl4j.broadcastParameters(comm, graph, 0);
                                    HvdDl4j.distributed(graph, comm.processSet(), _ -> {});
                                    for (int i = 0; i < STEPS; i++) {
                                        int from = 4 * (2 * i + comm.rank());
                                        graph.fit(batch(from, from + 4));
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

    @Test
    void adasumOfEqualChangesIsTheChangeOfOneRank() {
        List<float[]> ranks =
                World.of(2)
                        .call(
                                comm -> {
                                    SameDiff graph =
                                            HvdDl4j.distributed(
                                                    graph(0),
                                                    comm.processSet(),
                                                    options -> options.op(ReduceOp.ADASUM));
                                    graph.fit(batch(0, 4));
                                    graph.fit(batch(4, 8));
                                    return values(graph);
                                });
        SameDiff alone = graph(0);
        alone.fit(batch(0, 4));
        alone.fit(batch(4, 8));
        assertThat(ranks.getFirst()).containsExactly(values(alone), CLOSE);
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
