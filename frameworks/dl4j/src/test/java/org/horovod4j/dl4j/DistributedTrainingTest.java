package org.horovod4j.dl4j;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.data.Offset;
import org.deeplearning4j.datasets.iterator.utilty.ListDataSetIterator;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.api.OptimizationAlgorithm;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.graph.MergeVertex;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.listeners.ScoreIterationListener;
import org.deeplearning4j.util.NetworkUtils;
import org.horovod4j.Communicator;
import org.horovod4j.MismatchException;
import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.compression.Compression;
import org.horovod4j.optim.GradientSettings;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.dataset.MultiDataSet;
import org.nd4j.linalg.dataset.adapter.MultiDataSetIteratorAdapter;
import org.nd4j.linalg.dataset.api.iterator.MultiDataSetIterator;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/// Small networks on ranks that are threads of this JVM.
class DistributedTrainingTest {
    private static final int STEPS = 5;
    private static final Offset<Float> CLOSE = Offset.offset(2e-5f);

    /// How many samples each of two ranks has in a step.
    private record Split(int first, int second) {
        int from(int step, int rank) {
            return step * (first + second) + (rank == 0 ? 0 : first);
        }

        int to(int step, int rank) {
            return from(step, rank) + (rank == 0 ? first : second);
        }
    }

    private static Model distributed(
            Communicator comm, TestNetwork kind, Consumer<GradientSettings.Builder> options) {
        Model model = kind.create(10 + comm.rank());
        HvdDl4j.broadcastParameters(comm, model, 0);
        install(model, comm.processSet(), options);
        return model;
    }

    private static void install(
            Model model, ProcessSet set, Consumer<GradientSettings.Builder> options) {
        switch (model) {
            case MultiLayerNetwork network -> HvdDl4j.distributed(network, set, options);
            case ComputationGraph graph -> HvdDl4j.distributed(graph, set, options);
            default -> throw new IllegalArgumentException(model.toString());
        }
    }

    private static List<float[]> train(
            TestNetwork kind,
            Split split,
            Consumer<GradientSettings.Builder> options,
            BiConsumer<Model, Integer> beforeStep) {
        return World.of(2)
                .call(
                        comm -> {
                            Model model = distributed(comm, kind, options);
                            for (int i = 0; i < STEPS; i++) {
                                beforeStep.accept(model, i);
                                TestNetwork.fit(
                                        model,
                                        kind.batch(
                                                split.from(i, comm.rank()),
                                                split.to(i, comm.rank())));
                            }
                            assertThat(HvdDl4j.isDistributed(model)).isTrue();
                            return TestNetwork.parameters(model);
                        });
    }

    private static float[] alone(
            TestNetwork kind, Split split, BiConsumer<Model, Integer> beforeStep) {
        Model model = kind.create(10);
        for (int i = 0; i < STEPS; i++) {
            beforeStep.accept(model, i);
            TestNetwork.fit(model, kind.batch(split.from(i, 0), split.to(i, 1)));
        }
        return TestNetwork.parameters(model);
    }

    private static void assertTrainsAsOne(
            TestNetwork kind, Split split, BiConsumer<Model, Integer> beforeStep) {
        List<float[]> ranks = train(kind, split, _ -> {}, beforeStep);
        float[] alone = alone(kind, split, beforeStep);
        assertThat(ranks.getFirst()).as("bits").containsExactly(ranks.getLast());
        assertThat(ranks.getFirst()).containsExactly(alone, CLOSE);
        assertThat(alone).isNotEqualTo(TestNetwork.parameters(kind.create(10)));
    }

    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "BATCH_NORM")
    void twoRanksTrainAsOneProcess(TestNetwork kind) {
        assertTrainsAsOne(kind, new Split(4, 4), (_, _) -> {});
    }

    @ParameterizedTest
    @EnumSource(
            mode = EnumSource.Mode.INCLUDE,
            names = {"DENSE", "CLIPPED", "SUMS", "RECURRENT", "GRAPH"})
    void eachSampleCountsAlikeIfBatchesDiffer(TestNetwork kind) {
        assertTrainsAsOne(kind, new Split(5, 2), (_, _) -> {});
    }

    @Test
    void replicasWithBatchNormStayEqual() {
        Split split = new Split(5, 3);
        List<float[]> ranks = train(TestNetwork.BATCH_NORM, split, _ -> {}, (_, _) -> {});
        assertThat(ranks.getFirst()).containsExactly(ranks.getLast());
        assertThat(ranks.getFirst()).doesNotContain(Float.NaN);
    }

    @Test
    void runningStatisticsAreTheAverageOfTheRanks() {
        List<Map<String, INDArray>> ranks =
                World.of(2)
                        .call(
                                comm -> {
                                    Model model =
                                            distributed(comm, TestNetwork.BATCH_NORM, _ -> {});
                                    int from = 5 * comm.rank();
                                    TestNetwork.fit(
                                            model, TestNetwork.BATCH_NORM.batch(from, from + 5));
                                    return statistics(model);
                                });
        Model first = TestNetwork.BATCH_NORM.create(10);
        TestNetwork.fit(first, TestNetwork.BATCH_NORM.batch(0, 5));
        Model second = TestNetwork.BATCH_NORM.create(10);
        TestNetwork.fit(second, TestNetwork.BATCH_NORM.batch(5, 10));
        assertThat(statistics(first)).hasSize(2);
        statistics(first)
                .forEach(
                        (name, ofFirst) -> {
                            INDArray ofSecond =
                                    Objects.requireNonNull(statistics(second).get(name));
                            assertThat(ofFirst).as(name).isNotEqualTo(ofSecond);
                            INDArray ofBoth = Objects.requireNonNull(ranks.getFirst().get(name));
                            assertThat(ofBoth.toFloatVector())
                                    .as(name)
                                    .containsExactly(
                                            ofFirst.add(ofSecond).divi(2).toFloatVector(), CLOSE)
                                    .containsExactly(
                                            Objects.requireNonNull(ranks.getLast().get(name))
                                                    .toFloatVector());
                        });
    }

    /// The running mean and variance of the batch normalisation.
    private static Map<String, INDArray> statistics(Model model) {
        return model.paramTable().entrySet().stream()
                .filter(it -> it.getKey().matches("1_(mean|var|log10stdev)"))
                .collect(Collectors.toMap(Map.Entry::getKey, it -> it.getValue().dup()));
    }

    /// Rank 1 joins after the first step.
    @ParameterizedTest
    @ValueSource(strings = {"all", "live"})
    void runningStatisticsAreThoseOfTheRanksThatHaveNotJoined(String average) {
        World.of(2)
                .with(Map.of("HOROVOD_JOIN_AVERAGE", average))
                .run(
                        comm -> {
                            Model model = distributed(comm, TestNetwork.BATCH_NORM, _ -> {});
                            TestNetwork.fit(model, TestNetwork.BATCH_NORM.batch(0, 4));
                            if (comm.rank() == 0) {
                                Model alone = TestNetwork.BATCH_NORM.create(10);
                                ReplicatedState.of(alone)
                                        .setCounts(ReplicatedState.of(model).counts());
                                alone.params().assign(model.params());
                                updater(alone).assign(updater(model));
                                TestNetwork.fit(model, TestNetwork.BATCH_NORM.batch(4, 8));
                                TestNetwork.fit(alone, TestNetwork.BATCH_NORM.batch(4, 8));
                                assertThat(TestNetwork.parameters(model))
                                        .containsExactly(TestNetwork.parameters(alone), CLOSE);
                            }
                            assertThat(comm.join()).isZero();
                        });
    }

    private static INDArray updater(Model model) {
        return TrainableNetwork.of(model).updater().getStateViewArray();
    }

    @ParameterizedTest
    @EnumSource(
            mode = EnumSource.Mode.INCLUDE,
            names = {"DENSE", "GRAPH"})
    void otherListenersAndLearningRateKeepTheNetworkDistributed(TestNetwork kind) {
        assertTrainsAsOne(
                kind,
                new Split(3, 3),
                (model, step) -> {
                    if (step == 0 || step == 2) {
                        boolean isDistributed = HvdDl4j.isDistributed(model);
                        model.setListeners(new ScoreIterationListener(1000));
                        switch (model) {
                            case MultiLayerNetwork network ->
                                    NetworkUtils.setLearningRate(network, 0.02);
                            case ComputationGraph graph ->
                                    NetworkUtils.setLearningRate(graph, 0.02);
                            default -> throw new IllegalArgumentException(model.toString());
                        }
                        assertThat(HvdDl4j.isDistributed(model)).isEqualTo(isDistributed);
                    }
                });
    }

    @Test
    void aChangedLearningRateKeepsTheNetworkDistributed() {
        assertTrainsAsOne(
                TestNetwork.DENSE,
                new Split(3, 3),
                (model, step) -> {
                    if (step == 2) {
                        NetworkUtils.setLearningRate((MultiLayerNetwork) model, 0.02);
                    }
                });
    }

    @Test
    void otherListenersKeepTheNetworkDistributed() {
        assertTrainsAsOne(
                TestNetwork.GRAPH,
                new Split(3, 3),
                (model, step) -> {
                    if (step == 1) {
                        model.setListeners(new ScoreIterationListener(1000));
                    }
                    if (step == 3) {
                        NetworkUtils.setLearningRate((ComputationGraph) model, 0.02);
                    }
                });
    }

    @Test
    void compressedGradientsAreClose() {
        Split split = new Split(4, 4);
        List<float[]> ranks =
                train(
                        TestNetwork.SGD,
                        split,
                        options -> options.compressor(Compression.FP16),
                        (_, _) -> {});
        assertThat(ranks.getFirst()).containsExactly(ranks.getLast());
        assertThat(ranks.getFirst())
                .containsExactly(alone(TestNetwork.SGD, split, (_, _) -> {}), Offset.offset(2e-3f))
                .isNotEqualTo(alone(TestNetwork.SGD, split, (_, _) -> {}));
    }

    /// Each rank computes changes from its own batches and the state of its own updater.
    @Test
    void adasumCombinesTheChangesOfTheRanks() {
        List<float[]> ranks =
                World.of(2)
                        .call(
                                comm -> {
                                    Model model =
                                            distributed(
                                                    comm,
                                                    TestNetwork.DENSE,
                                                    options -> options.op(ReduceOp.ADASUM));
                                    for (int i = 0; i < STEPS; i++) {
                                        int from = 8 * i + 4 * comm.rank();
                                        TestNetwork.fit(
                                                model, TestNetwork.DENSE.batch(from, from + 4));
                                    }
                                    return TestNetwork.parameters(model);
                                });
        Model first = TestNetwork.DENSE.create(10);
        Model second = TestNetwork.DENSE.create(10);
        for (int i = 0; i < STEPS; i++) {
            INDArray before = first.params().dup();
            TestNetwork.fit(first, TestNetwork.DENSE.batch(8 * i, 8 * i + 4));
            TestNetwork.fit(second, TestNetwork.DENSE.batch(8 * i + 4, 8 * i + 8));
            INDArray next =
                    before.add(
                            NaiveAdasum.of(
                                    first.params().sub(before), second.params().sub(before)));
            first.params().assign(next);
            second.params().assign(next);
        }
        assertThat(ranks.getFirst()).containsExactly(ranks.getLast());
        assertThat(ranks.getFirst()).containsExactly(TestNetwork.parameters(first), CLOSE);
    }

    @Test
    void processSetsTrainDifferentNetworks() {
        List<float[]> ranks =
                World.of(3)
                        .call(
                                comm -> {
                                    ProcessSet pair = comm.addProcessSet(0, 2);
                                    Model model = TestNetwork.SGD.create(10);
                                    install(model, pair, _ -> {});
                                    TestNetwork.fit(
                                            model,
                                            TestNetwork.SGD.batch(
                                                    4 * comm.rank(), 4 * comm.rank() + 4));
                                    return TestNetwork.parameters(model);
                                });
        Model single = TestNetwork.SGD.create(10);
        TestNetwork.fit(single, TestNetwork.SGD.batch(4, 8));
        assertThat(ranks.get(0)).containsExactly(ranks.get(2));
        assertThat(ranks.get(1)).containsExactly(TestNetwork.parameters(single));
        assertThat(ranks.get(0)).isNotEqualTo(ranks.get(1));
    }

    /// Rank 1 has one batch less. The others average over their samples alone, with either way to count
    /// ranks that have joined.
    @ParameterizedTest
    @CsvSource({"DENSE, all", "DENSE, live", "SUMS, all", "SUMS, live"})
    void aRankWithoutBatchesJoins(TestNetwork kind, String average) {
        List<float[]> ranks =
                World.of(2)
                        .with(Map.of("HOROVOD_JOIN_AVERAGE", average))
                        .call(
                                comm -> {
                                    Model model = distributed(comm, kind, _ -> {});
                                    for (int i = 0; i < 3 - comm.rank(); i++) {
                                        int from = 4 * (2 * i + comm.rank());
                                        TestNetwork.fit(model, kind.batch(from, from + 4));
                                    }
                                    HvdDl4j.broadcastParameters(comm, model, comm.join());
                                    return TestNetwork.parameters(model);
                                });
        Model alone = kind.create(10);
        TestNetwork.fit(alone, kind.batch(0, 8));
        TestNetwork.fit(alone, kind.batch(8, 16));
        TestNetwork.fit(alone, kind.batch(16, 20));
        assertThat(ranks.getFirst()).containsExactly(ranks.getLast());
        assertThat(ranks.getFirst()).containsExactly(TestNetwork.parameters(alone), CLOSE);
    }

    @Test
    void aGraphTrainsWithBatchesOfSeveralArrays() {
        List<float[]> ranks =
                World.of(2)
                        .call(
                                comm -> {
                                    ComputationGraph graph =
                                            (ComputationGraph)
                                                    distributed(comm, TestNetwork.GRAPH, _ -> {});
                                    graph.fit(
                                            new ShardedMultiDataSetIterator(
                                                    arrays(4), comm.rank(), comm.size()),
                                            2);
                                    return TestNetwork.parameters(graph);
                                });
        ComputationGraph alone = (ComputationGraph) TestNetwork.GRAPH.create(10);
        alone.fit(arrays(8), 2);
        assertThat(ranks.getFirst()).containsExactly(ranks.getLast());
        assertThat(ranks.getFirst()).containsExactly(TestNetwork.parameters(alone), CLOSE);
    }

    @Test
    void aGraphWithTwoInputsTrains() {
        List<float[]> ranks =
                World.of(2)
                        .call(
                                comm -> {
                                    ComputationGraph graph =
                                            HvdDl4j.distributed(
                                                    twoInputs(), comm.processSet(), _ -> {});
                                    for (int i = 0; i < STEPS; i++) {
                                        graph.fit(
                                                comm.rank() == 0
                                                        ? pairs(8 * i, 8 * i + 5)
                                                        : pairs(8 * i + 5, 8 * i + 8));
                                    }
                                    return TestNetwork.parameters(graph);
                                });
        ComputationGraph alone = twoInputs();
        for (int i = 0; i < STEPS; i++) {
            alone.fit(pairs(8 * i, 8 * i + 8));
        }
        assertThat(ranks.getFirst()).containsExactly(ranks.getLast());
        assertThat(ranks.getFirst()).containsExactly(TestNetwork.parameters(alone), CLOSE);
    }

    private static ComputationGraph twoInputs() {
        ComputationGraph graph =
                new ComputationGraph(
                        new NeuralNetConfiguration.Builder()
                                .seed(10)
                                .updater(new Adam(0.01))
                                .graphBuilder()
                                .addInputs("left", "right")
                                .addVertex("both", new MergeVertex(), "left", "right")
                                .addLayer(
                                        "out",
                                        new OutputLayer.Builder(LossFunction.MSE)
                                                .nIn(2 * TestNetwork.INPUTS)
                                                .nOut(TestNetwork.OUTPUTS)
                                                .activation(Activation.IDENTITY)
                                                .build(),
                                        "both")
                                .setOutputs("out")
                                .build());
        graph.init();
        return graph;
    }

    private static MultiDataSet pairs(int from, int to) {
        return new MultiDataSet(
                new INDArray[] {
                    TestNetwork.DENSE.batch(from, to).getFeatures(),
                    TestNetwork.DENSE.batch(from + 50, to + 50).getFeatures()
                },
                new INDArray[] {TestNetwork.DENSE.batch(from, to).getLabels()});
    }

    private static MultiDataSetIterator arrays(int batchSize) {
        return new MultiDataSetIteratorAdapter(
                new ListDataSetIterator<>(TestNetwork.GRAPH.batch(0, 21).asList(), batchSize));
    }

    @Test
    void aForgottenBroadcastIsReported() {
        World.run(
                2,
                comm -> {
                    Model model = TestNetwork.DENSE.create(comm.rank());
                    install(model, comm.processSet(), _ -> {});
                    assertThatThrownBy(() -> TestNetwork.fit(model, TestNetwork.DENSE.batch(0, 4)))
                            .isInstanceOf(MismatchException.class)
                            .hasMessageContaining("the ranks start with different parameters");
                });
    }

    @Test
    void differentNetworksAreReported() {
        World.run(
                2,
                comm -> {
                    Model model =
                            (comm.rank() == 0 ? TestNetwork.DENSE : TestNetwork.FROZEN).create(1);
                    assertThatThrownBy(() -> HvdDl4j.broadcastParameters(comm, model, 0))
                            .isInstanceOf(MismatchException.class)
                            .hasMessageContaining("'updater'");
                });
    }

    @Test
    void impossibleOptionsAreRejected() {
        World.run(
                1,
                comm -> {
                    ProcessSet set = comm.processSet();
                    Model model = TestNetwork.SGD.create(1);
                    assertThatThrownBy(() -> install(model, set, it -> it.op(ReduceOp.SUM)))
                            .hasMessageContaining("op is SUM");
                    assertThatThrownBy(() -> install(model, set, it -> it.backwardPassesPerStep(2)))
                            .hasMessageContaining("DL4J overwrites the gradient");
                    assertThatThrownBy(() -> install(model, set, it -> it.local(_ -> true)))
                            .hasMessageContaining("one array for all gradients");
                    assertThat(HvdDl4j.isDistributed(model)).isFalse();
                });
    }

    @Test
    void unsuitableNetworksAreRejected() {
        NeuralNetConfiguration.Builder lineSearch =
                new NeuralNetConfiguration.Builder().optimizationAlgo(OptimizationAlgorithm.LBFGS);
        MultiLayerNetwork network =
                new MultiLayerNetwork(
                        lineSearch
                                .list()
                                .layer(
                                        new OutputLayer.Builder(LossFunction.MSE)
                                                .nIn(2)
                                                .nOut(2)
                                                .build())
                                .build());
        World.run(
                1,
                comm -> {
                    assertThatThrownBy(() -> install(network, comm.processSet(), _ -> {}))
                            .hasMessageContaining("call init() on it first");
                    network.init();
                    assertThatThrownBy(() -> install(network, comm.processSet(), _ -> {}))
                            .hasMessageContaining("optimized by LBFGS");
                });
    }
}
