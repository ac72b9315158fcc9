package org.horovod4j.dl4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.data.Offset;
import org.deeplearning4j.datasets.iterator.utilty.ListDataSetIterator;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.horovod4j.HorovodException;
import org.horovod4j.Hvd;
import org.horovod4j.launcher.Launcher;
import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/// Two processes with a batch each train as one process with both batches, by an unchanged
/// `fit(iterator, epochs)`.
class EquivalenceIT {
    private static final int SAMPLES = 200;
    private static final int BATCH = 8;
    private static final int EPOCHS = 5;
    private static final Offset<Float> CLOSE = Offset.offset(1e-4f);

    @TempDir private Path folder;

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

    @Test
    void aTrainedNetworkIsUsedByAProgramWithoutHorovod4j() throws Exception {
        String file = folder.resolve("network.zip").toString();
        List<float[]> outputs =
                Launcher.processes(2)
                        .jvmOptions(TestJvm.SHORT_LIVED)
                        .run(
                                _ -> {
                                    MultiLayerNetwork network = network(TestNetwork.DENSE);
                                    if (Hvd.rank() == 0) {
                                        network.save(new File(file));
                                    }
                                    return network.output(PlainProgram.input(TestNetwork.INPUTS))
                                            .toFloatVector();
                                });
        Process plain =
                new ProcessBuilder(
                                TestJvm.of(PlainProgram.class, file)
                                        .onClassPath(
                                                TestJvm.location(PlainProgram.class)
                                                        + File.pathSeparator
                                                        + TestJvm.LIBRARIES)
                                        .shortLived()
                                        .words())
                        .redirectErrorStream(true)
                        .start();
        String output = new String(plain.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(plain.waitFor()).as(output).isZero();
        assertThat(output)
                .contains("output " + Arrays.toString(outputs.getFirst()))
                .contains("without Horovod4J")
                .contains("iterations %d".formatted(1 + EPOCHS * Math.ceilDiv(SAMPLES, 2 * BATCH)));
    }

    /// The other rank reports the loss from within `fit`.
    @Test
    void aRankThatDiesEndsTheTraining() throws IOException {
        String report = folder.resolve("report").toString();
        assertThatThrownBy(
                        () ->
                                Launcher.processes(2)
                                        .jvmOptions(TestJvm.SHORT_LIVED)
                                        .run(_ -> trainUntilRankOneDies(report)))
                .hasMessageContaining("rank 1");
        assertThat(Files.readString(Path.of(report)))
                .contains("PeerLostException")
                .contains("rank 1");
    }

    private static int trainUntilRankOneDies(String report) throws IOException {
        MultiLayerNetwork network = (MultiLayerNetwork) TestNetwork.DENSE.create(1);
        HvdDl4j.distributed(network);
        try {
            network.fit(TestNetwork.DENSE.batch(0, 8));
            if (Hvd.rank() == 1) {
                Runtime.getRuntime().halt(7);
            }
            network.fit(HvdDl4j.shard(data(TestNetwork.DENSE, BATCH)), EPOCHS);
        } catch (HorovodException e) {
            Files.writeString(Path.of(report), e.toString());
            throw e;
        }
        return network.getIterationCount();
    }
}
