package org.horovod4j.dl4j.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.data.Offset;
import org.deeplearning4j.datasets.iterator.utilty.ListDataSetIterator;
import org.deeplearning4j.earlystopping.EarlyStoppingConfiguration;
import org.deeplearning4j.earlystopping.EarlyStoppingResult;
import org.deeplearning4j.earlystopping.scorecalc.DataSetLossCalculator;
import org.deeplearning4j.earlystopping.termination.IterationTerminationCondition;
import org.deeplearning4j.earlystopping.termination.MaxEpochsTerminationCondition;
import org.deeplearning4j.earlystopping.trainer.EarlyStoppingGraphTrainer;
import org.deeplearning4j.earlystopping.trainer.EarlyStoppingTrainer;
import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.conf.NeuralNetConfiguration;
import org.deeplearning4j.nn.conf.layers.OutputLayer;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.horovod4j.Communicator;
import org.horovod4j.checkpoint.BestMetric;
import org.horovod4j.checkpoint.CheckpointException;
import org.horovod4j.dl4j.HvdDl4j;
import org.horovod4j.dl4j.ShardedDataSetIterator;
import org.horovod4j.dl4j.TestNetwork;
import org.horovod4j.testing.World;
import org.horovod4j.training.Epochs;
import org.horovod4j.training.LearningRateWarmup;
import org.horovod4j.training.TrainingProgress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.nd4j.evaluation.IEvaluation;
import org.nd4j.evaluation.classification.Evaluation;
import org.nd4j.evaluation.classification.ROC;
import org.nd4j.evaluation.classification.ROCBinary;
import org.nd4j.evaluation.classification.ROCMultiClass;
import org.nd4j.linalg.activations.Activation;
import org.nd4j.linalg.dataset.DataSet;
import org.nd4j.linalg.dataset.api.iterator.DataSetIterator;
import org.nd4j.linalg.factory.Nd4j;
import org.nd4j.linalg.learning.config.Adam;
import org.nd4j.linalg.lossfunctions.LossFunctions.LossFunction;
import org.nd4j.linalg.schedule.ISchedule;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.ToIntFunction;

/// Listeners of networks on ranks that are threads of this JVM.
class ListenersTest {
    private static final Offset<Double> CLOSE = Offset.offset(1e-5);

    @TempDir private Path folder;

    private static MultiLayerNetwork network(Communicator comm) {
        MultiLayerNetwork network = (MultiLayerNetwork) TestNetwork.DENSE.create(1);
        return HvdDl4j.distributed(network, comm.processSet(), _ -> {});
    }

    private static DataSetIterator data(Communicator comm) {
        List<DataSet> samples = TestNetwork.DENSE.batch(0, 21).asList();
        return new ShardedDataSetIterator(
                new ListDataSetIterator<>(samples, 4), comm.rank(), comm.size());
    }

    @Test
    void scoreOfAnEpochIsTheAverageOfAllSamples() {
        List<Double> scores =
                World.of(2)
                        .call(
                                comm -> {
                                    MultiLayerNetwork network = network(comm);
                                    network.addListeners(new ScoreAverage(comm));
                                    network.fit(data(comm), 2);
                                    return network.score();
                                });
        MultiLayerNetwork alone = (MultiLayerNetwork) TestNetwork.DENSE.create(1);
        double sum = 0;
        for (int epoch = 0; epoch < 2; epoch++) {
            sum = 0;
            for (int from = 0; from < 21; from += 8) {
                DataSet batch = TestNetwork.DENSE.batch(from, Math.min(21, from + 8));
                alone.fit(batch);
                sum += alone.score() * batch.numExamples();
            }
        }
        assertThat(scores.get(0)).isEqualTo(scores.get(1));
        assertThat(scores.getFirst()).isCloseTo(sum / 21, CLOSE);
    }

    @Test
    void progressCountsTheSamplesOfAllRanks() {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        World.run(
                2,
                comm -> {
                    TrainingProgress progress =
                            TrainingProgress.ofEpochs(2)
                                    .communicator(comm)
                                    .output(
                                            new PrintStream(out, true, StandardCharsets.UTF_8),
                                            false)
                                    .build();
                    MultiLayerNetwork network = network(comm);
                    network.addListeners(new ScoreAverage(comm), new ProgressListener(progress));
                    network.fit(data(comm), 2);
                    progress.trainingDone();
                });
        assertThat(out.toString(StandardCharsets.UTF_8))
                .containsPattern("epoch 2/2 done in .* \\| score ")
                .contains("trained on 42 images");
    }

    private MultiLayerNetwork resumed(Communicator comm, Path where) {
        MultiLayerNetwork network = network(comm);
        Checkpoints checkpoints = new Checkpoints(where, comm).keep(2);
        int done = checkpoints.resume(network);
        network.addListeners(checkpoints);
        network.fit(data(comm), 4 - done);
        return network;
    }

    @Test
    void aTrainingResumesFromItsCheckpoint() {
        Path interrupted = folder.resolve("interrupted");
        World.run(
                2,
                comm -> {
                    MultiLayerNetwork network = network(comm);
                    Checkpoints checkpoints = new Checkpoints(interrupted, comm).keep(2);
                    assertThat(checkpoints.resume(network)).isZero();
                    network.addListeners(checkpoints);
                    network.fit(data(comm), 3);
                });
        assertThat(folder.resolve("interrupted/epoch-0003.checkpoint")).exists();
        assertThat(folder.resolve("interrupted/epoch-0001.checkpoint")).doesNotExist();
        List<float[]> resumed =
                World.of(2)
                        .call(
                                comm -> {
                                    MultiLayerNetwork network = resumed(comm, interrupted);
                                    assertThat(network.getEpochCount()).isEqualTo(4);
                                    return TestNetwork.parameters(network);
                                });
        List<float[]> whole =
                World.of(2)
                        .call(
                                comm ->
                                        TestNetwork.parameters(
                                                resumed(comm, folder.resolve("whole"))));
        assertThat(resumed.getFirst())
                .as("Adam continues with its state and its count of iterations")
                .containsExactly(whole.getFirst());
        assertThat(resumed.getFirst()).containsExactly(resumed.getLast());
    }

    @Test
    void aCheckpointOfAnotherNetworkIsRejectedOnAllRanks() {
        World.run(1, comm -> resumed(comm, folder));
        World.run(
                2,
                comm ->
                        assertThatThrownBy(
                                        () ->
                                                new Checkpoints(folder, comm)
                                                        .resume(TestNetwork.SGD.create(1)))
                                .isInstanceOf(CheckpointException.class)
                                .hasMessageContaining("is a checkpoint of another training"));
    }

    /// An epoch has three steps.
    @ParameterizedTest
    @EnumSource
    void theBestNetworkIsSavedForPlainDl4j(BestMetric.Mode mode) throws IOException {
        Path best = folder.resolve("best.zip");
        DataSet all = TestNetwork.DENSE.batch(0, 21);
        List<List<Double>> ranks =
                World.of(2)
                        .call(
                                comm -> {
                                    List<Double> scores = new ArrayList<>();
                                    MultiLayerNetwork network = network(comm);
                                    network.addListeners(
                                            new Checkpoints(folder.resolve("c"), comm)
                                                    .saveBest(
                                                            best,
                                                            mode,
                                                            _ -> {
                                                                scores.add(network.score(all));
                                                                return scores.getLast();
                                                            }));
                                    network.fit(data(comm), 3);
                                    assertThat(network.getEpochCount()).isEqualTo(3);
                                    return scores;
                                });
        List<Double> scores = ranks.getFirst();
        double expected =
                mode == BestMetric.Mode.MAX ? Collections.max(scores) : Collections.min(scores);
        int epoch = 1 + scores.indexOf(expected);
        MultiLayerNetwork loaded = MultiLayerNetwork.load(best.toFile(), true);
        assertThat(HvdDl4j.isDistributed(loaded)).isFalse();
        assertThat(loaded.getEpochCount()).isEqualTo(epoch);
        assertThat(loaded.getIterationCount()).isEqualTo(3 * epoch);
        assertThat(loaded.score(all)).isCloseTo(expected, CLOSE);
        loaded.fit(all); // with its updater
        assertThat(Files.getPosixFilePermissions(best))
                .as("the same readers as for any other new file")
                .isEqualTo(
                        Files.getPosixFilePermissions(Files.createFile(folder.resolve("other"))));
        try (var files = Files.list(folder)) {
            assertThat(files.filter(it -> it.toString().endsWith(".partial"))).isEmpty();
        }
    }

    /// Trains on two ranks with early stopping, which each may configure in another way.
    private static List<EarlyStoppingResult<MultiLayerNetwork>> trainUntil(
            ToIntFunction<Communicator> epochs, ToIntFunction<Communicator> batches) {
        return World.of(2)
                .call(
                        comm -> {
                            EarlyStoppingConfiguration<MultiLayerNetwork> own =
                                    new EarlyStoppingConfiguration.Builder<MultiLayerNetwork>()
                                            .epochTerminationConditions(
                                                    new MaxEpochsTerminationCondition(
                                                            epochs.applyAsInt(comm)))
                                            .scoreCalculator(
                                                    new DataSetLossCalculator(data(comm), true))
                                            .iterationTerminationConditions(
                                                    new AfterBatches(batches.applyAsInt(comm)))
                                            .build();
                            return AgreedEarlyStopping.fit(
                                    new EarlyStoppingTrainer(
                                            AgreedEarlyStopping.of(comm, own),
                                            network(comm),
                                            data(comm)));
                        });
    }

    @Test
    void allRanksStopTogether() {
        List<EarlyStoppingResult<MultiLayerNetwork>> results =
                trainUntil(comm -> 2 + comm.rank(), _ -> 99);
        assertThat(results).extracting(EarlyStoppingResult::getTotalEpochs).containsOnly(2);
        assertThat(results.get(0).getBestModelScore())
                .isEqualTo(results.get(1).getBestModelScore());
        assertThat(TestNetwork.parameters(results.get(0).getBestModel()))
                .containsExactly(TestNetwork.parameters(results.get(1).getBestModel()));
    }

    @Test
    void allRanksStopTheTrainingOfAGraphTogether() {
        List<EarlyStoppingResult<ComputationGraph>> results =
                World.of(2)
                        .call(
                                comm -> {
                                    ComputationGraph graph =
                                            (ComputationGraph) TestNetwork.GRAPH.create(1);
                                    EarlyStoppingConfiguration<ComputationGraph> own =
                                            new EarlyStoppingConfiguration.Builder<
                                                            ComputationGraph>()
                                                    .epochTerminationConditions(
                                                            new MaxEpochsTerminationCondition(
                                                                    2 + comm.rank()))
                                                    .scoreCalculator(
                                                            new DataSetLossCalculator(
                                                                    data(comm), true))
                                                    .build();
                                    return AgreedEarlyStopping.fit(
                                            new EarlyStoppingGraphTrainer(
                                                    AgreedEarlyStopping.of(comm, own),
                                                    HvdDl4j.distributed(
                                                            graph, comm.processSet(), _ -> {}),
                                                    data(comm)));
                                });
        assertThat(results).extracting(EarlyStoppingResult::getTotalEpochs).containsOnly(2);
        assertThat(TestNetwork.parameters(results.get(0).getBestModel()))
                .containsExactly(TestNetwork.parameters(results.get(1).getBestModel()));
    }

    /// Ends the training after a number of batches. An epoch has three.
    @SuppressWarnings("serial") // the interface is Serializable, but nothing serializes this
    private static final class AfterBatches implements IterationTerminationCondition {
        private int left;

        AfterBatches(int batches) {
            this.left = batches;
        }

        @Override
        public void initialize() {}

        @Override
        public boolean terminate(double lastScore) {
            left--;
            return left == 0;
        }
    }

    @Test
    void aFailureWithEarlyStoppingIsThrown() {
        World.run(
                1,
                comm -> {
                    MultiLayerNetwork network = network(comm);
                    network.addListeners(
                            new BaseTrainingListener() {
                                @Override
                                public void iterationDone(Model model, int iteration, int epoch) {
                                    if (epoch == 1) {
                                        throw new IllegalStateException("the disk is full");
                                    }
                                }
                            });
                    EarlyStoppingConfiguration<MultiLayerNetwork> own =
                            new EarlyStoppingConfiguration.Builder<MultiLayerNetwork>()
                                    .epochTerminationConditions(
                                            new MaxEpochsTerminationCondition(2))
                                    .scoreCalculator(new DataSetLossCalculator(data(comm), true))
                                    .build();
                    EarlyStoppingTrainer trainer =
                            new EarlyStoppingTrainer(
                                    AgreedEarlyStopping.of(comm, own), network, data(comm));
                    assertThatThrownBy(() -> AgreedEarlyStopping.fit(trainer))
                            .isInstanceOf(IllegalStateException.class)
                            .hasMessageContaining("training with early stopping failed")
                            .hasMessageContaining("the disk is full");
                });
    }

    @Test
    void aConditionOfOneRankStopsAllWithinAnEpoch() {
        List<EarlyStoppingResult<MultiLayerNetwork>> results =
                trainUntil(_ -> 9, comm -> comm.rank() == 0 ? 99 : 5);
        assertThat(results)
                .extracting(EarlyStoppingResult::getTerminationReason)
                .containsOnly(EarlyStoppingResult.TerminationReason.IterationTerminationCondition);
    }

    @Test
    void aLearningRateBecomesAScheduleOfDl4j() throws IOException {
        ISchedule schedule =
                HvdDl4j.schedule(LearningRateWarmup.to(0.4f, 4, 2, new Epochs(5)), 100);
        assertThat(schedule.valueAt(0, 0)).isCloseTo(0.1 * (1 + 3 * 0.1), CLOSE);
        assertThat(schedule.valueAt(9, 1)).isCloseTo(0.4, CLOSE);
        assertThat(schedule.valueAt(5000, 70)).isCloseTo(0.4, CLOSE);
        MultiLayerNetwork network = (MultiLayerNetwork) TestNetwork.DENSE.create(1);
        network.setLearningRate(schedule);
        Path file = folder.resolve("scheduled.zip");
        network.save(file.toFile());
        MultiLayerNetwork loaded = MultiLayerNetwork.load(file.toFile(), true);
        assertThat(
                        ((Adam)
                                        loaded.getLayerWiseConfigurations()
                                                .getConf(0)
                                                .getLayer()
                                                .getUpdaterByParam("W"))
                                .getLearningRateSchedule())
                .isEqualTo(schedule);
        assertThatThrownBy(() -> HvdDl4j.schedule(_ -> 1, 0)).hasMessageContaining("0 updates");
    }

    @Test
    void evaluationsOfAllRanksAreMerged() {
        World.run(
                2,
                comm -> {
                    MultiLayerNetwork network = network(comm);
                    var own = network.evaluateRegression(data(comm));
                    var all = HvdDl4j.merge(comm, own);
                    var expected =
                            network.evaluateRegression(
                                    new ListDataSetIterator<>(
                                            TestNetwork.DENSE.batch(0, 21).asList(), 4));
                    assertThat(all.meanSquaredError(0))
                            .isCloseTo(expected.meanSquaredError(0), CLOSE);
                });
    }

    /// Each rank has other predictions of two classes.
    private static <T extends IEvaluation<T>> T evaluated(T evaluation, int from, int to) {
        for (int i = from; i < to; i++) {
            double first = 0.5 + 0.5 * Math.sin(7.3 * i);
            evaluation.eval(
                    Nd4j.eye(2).getRows(i % 3 == 0 ? 1 : 0),
                    Nd4j.createFromArray(new double[][] {{first, 1 - first}}));
        }
        return evaluation;
    }

    @Test
    void curvesWithThresholdsAreMerged() {
        World.run(
                2,
                comm -> {
                    int from = 10 * comm.rank();
                    int to = from + 10;
                    ROC all = evaluated(new ROC(50), 0, 20);
                    assertThat(HvdDl4j.merge(comm, evaluated(new ROC(50), from, to)).calculateAUC())
                            .isCloseTo(all.calculateAUC(), CLOSE)
                            .isNotEqualTo(evaluated(new ROC(50), from, to).calculateAUC());
                    assertThat(
                                    HvdDl4j.merge(comm, evaluated(new ROCBinary(50), from, to))
                                            .calculateAUC(0))
                            .isCloseTo(evaluated(new ROCBinary(50), 0, 20).calculateAUC(0), CLOSE);
                    assertThat(
                                    HvdDl4j.merge(comm, evaluated(new ROCMultiClass(50), from, to))
                                            .calculateAUC(0))
                            .isCloseTo(
                                    evaluated(new ROCMultiClass(50), 0, 20).calculateAUC(0), CLOSE);
                });
    }

    @Test
    void exactCurvesAreRejected() {
        World.run(
                2,
                comm -> {
                    assertThatThrownBy(() -> HvdDl4j.merge(comm, evaluated(new ROC(), 0, 9)))
                            .hasMessageContaining("an exact ROC cannot be merged")
                            .hasMessageContaining("new ROC(200)");
                    assertThatThrownBy(() -> HvdDl4j.merge(comm, evaluated(new ROCBinary(), 0, 9)))
                            .hasMessageContaining("new ROCBinary(200)");
                    assertThatThrownBy(
                                    () -> HvdDl4j.merge(comm, evaluated(new ROCMultiClass(), 0, 9)))
                            .hasMessageContaining("new ROCMultiClass(200)");
                });
    }

    private static MultiLayerNetwork classifier() {
        MultiLayerNetwork network =
                new MultiLayerNetwork(
                        new NeuralNetConfiguration.Builder()
                                .seed(1)
                                .list()
                                .layer(
                                        new OutputLayer.Builder(LossFunction.MCXENT)
                                                .nIn(3)
                                                .nOut(2)
                                                .activation(Activation.SOFTMAX)
                                                .build())
                                .build());
        network.init();
        return network;
    }

    @Test
    void aRankWithoutTestDataGetsTheEvaluationOfAll() {
        List<DataSet> images =
                new DataSet(Nd4j.rand(9, 3), Nd4j.eye(2).getRows(0, 1, 0, 1, 0, 1, 0, 1, 0))
                        .asList();
        List<Double> accuracies =
                World.of(2)
                        .call(
                                comm -> {
                                    List<DataSet> own = comm.rank() == 0 ? images : List.of();
                                    Evaluation all =
                                            HvdDl4j.merge(
                                                    comm,
                                                    classifier()
                                                            .evaluate(
                                                                    new ListDataSetIterator<>(
                                                                            own, 4)));
                                    assertThat(all.getNumRowCounter()).isEqualTo(9);
                                    return all.accuracy();
                                });
        assertThat(accuracies)
                .containsOnly(
                        classifier().evaluate(new ListDataSetIterator<>(images, 4)).accuracy());
    }

    @Test
    void aStateReturnsToItsCommit() {
        World.run(
                2,
                comm -> {
                    ComputationGraph graph =
                            HvdDl4j.distributed(
                                    (ComputationGraph) TestNetwork.GRAPH.create(7 + comm.rank()),
                                    comm.processSet(),
                                    _ -> {});
                    Dl4jState state = new Dl4jState(graph);
                    state.sync(comm, 1);
                    for (int i = 0; i < 3; i++) {
                        graph.fit(TestNetwork.GRAPH.batch(0, 4));
                        state.save();
                    }
                    float[] committed = TestNetwork.parameters(graph);
                    float[] moments = graph.getUpdater().getStateViewArray().dup().data().asFloat();
                    graph.fit(TestNetwork.GRAPH.batch(4, 8));
                    assertThat(TestNetwork.parameters(graph)).isNotEqualTo(committed);
                    state.restore();
                    assertThat(TestNetwork.parameters(graph)).containsExactly(committed);
                    assertThat(graph.getUpdater().getStateViewArray().dup().data().asFloat())
                            .containsExactly(moments);
                    assertThat(graph.getIterationCount()).isEqualTo(3);
                });
    }
}
