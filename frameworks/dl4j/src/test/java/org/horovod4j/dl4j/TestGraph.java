package org.horovod4j.dl4j;

import org.nd4j.autodiff.samediff.SDVariable;
import org.nd4j.autodiff.samediff.SameDiff;
import org.nd4j.autodiff.samediff.TrainingConfig;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;

/// A small SameDiff graph for the data of [TestNetwork#DENSE].
public final class TestGraph {
    private TestGraph() {}

    /// A graph with its training configuration.
    ///
    /// @param start the first weight; others depend on it
    public static SameDiff create(double start) {
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

    /// All variables.
    public static float[] values(SameDiff graph) {
        return Nd4j.concat(
                        0,
                        graph.getVariable("w1").getArr().reshape(-1),
                        graph.getVariable("b1").getArr().reshape(-1),
                        graph.getVariable("w2").getArr().reshape(-1))
                .toFloatVector();
    }
}
