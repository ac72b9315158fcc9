package org.horovod4j.dl4j;

import static org.assertj.core.api.Assertions.assertThat;

import org.assertj.core.data.Offset;
import org.deeplearning4j.datasets.iterator.utilty.ListDataSetIterator;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.horovod4j.Hvd;
import org.horovod4j.launcher.Launcher;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;

import java.util.List;

/// Two processes with a batch each train as one process with both batches, by an unchanged
/// `fit(iterator, epochs)`.
class EquivalenceIT {
    private static final int SAMPLES = 200;
    private static final int BATCH = 8;
    private static final int EPOCHS = 5;
    private static final Offset<Float> CLOSE = Offset.offset(1e-4f);

    /// What a rank returns.
    @SuppressWarnings("ArrayRecordComponent") // the test compares the arrays, not the record
    private record Training(float[] network, float[] graph, float[] batchNorm, double error) {}

    private static DataSetIterator data(TestNetwork kind, int batchSize) {
        return new ListDataSetIterator<>(kind.batch(0, SAMPLES).asList(), batchSize);
    }

    private static Training train() {
        return new Training(
                TestNetwork.parameters(network(TestNetwork.DENSE)),
                TestNetwork.parameters(graph()),
                TestNetwork.parameters(network(TestNetwork.BATCH_NORM)),
                HvdDl4j.merge(
                                network(TestNetwork.SGD)
                                        .evaluateRegression(
                                                HvdDl4j.shard(data(TestNetwork.SGD, BATCH))))
                        .averageMeanSquaredError());
    }

    private static MultiLayerNetwork network(TestNetwork kind) {
        MultiLayerNetwork network = (MultiLayerNetwork) kind.create(1 + Hvd.rank());
        HvdDl4j.broadcastParameters(network, 0);
        HvdDl4j.distributed(network).fit(HvdDl4j.shard(data(kind, BATCH)), EPOCHS);
        return network;
    }

    private static ComputationGraph graph() {
        ComputationGraph graph = (ComputationGraph) TestNetwork.GRAPH.create(1 + Hvd.rank());
        HvdDl4j.broadcastParameters(graph, 0);
        HvdDl4j.distributed(graph).fit(HvdDl4j.shard(data(TestNetwork.GRAPH, BATCH)), EPOCHS);
        return graph;
    }

    @Test
    void twoRanksTrainAsOneProcess() {
        List<Training> ranks =
                Launcher.processes(2).jvmOptions(TestJvm.SHORT_LIVED).run(_ -> train());
        Training first = ranks.getFirst();
        Training second = ranks.getLast();
        assertThat(first.network).as("bits").containsExactly(second.network);
        assertThat(first.graph).as("bits").containsExactly(second.graph);
        assertThat(first.batchNorm).as("bits").containsExactly(second.batchNorm);
        assertThat(first.error).isEqualTo(second.error);

        MultiLayerNetwork alone = (MultiLayerNetwork) TestNetwork.DENSE.create(1);
        alone.fit(data(TestNetwork.DENSE, 2 * BATCH), EPOCHS);
        assertThat(first.network).containsExactly(TestNetwork.parameters(alone), CLOSE);
        ComputationGraph graph = (ComputationGraph) TestNetwork.GRAPH.create(1);
        graph.fit(data(TestNetwork.GRAPH, 2 * BATCH), EPOCHS);
        assertThat(first.graph).containsExactly(TestNetwork.parameters(graph), CLOSE);
        MultiLayerNetwork sgd = (MultiLayerNetwork) TestNetwork.SGD.create(1);
        sgd.fit(data(TestNetwork.SGD, 2 * BATCH), EPOCHS);
        assertThat(first.error)
                .isCloseTo(
                        sgd.evaluateRegression(data(TestNetwork.SGD, BATCH))
                                .averageMeanSquaredError(),
                        Offset.offset(1e-4));
    }
}
