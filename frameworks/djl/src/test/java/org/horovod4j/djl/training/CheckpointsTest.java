package org.horovod4j.djl.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.Shape;
import ai.djl.nn.SequentialBlock;
import ai.djl.nn.core.Linear;
import ai.djl.training.DefaultTrainingConfig;
import ai.djl.training.Trainer;
import ai.djl.training.evaluator.Accuracy;
import ai.djl.training.listener.TrainingListener;
import ai.djl.training.listener.TrainingListenerAdapter;
import ai.djl.training.loss.Loss;
import ai.djl.training.optimizer.Optimizer;

import org.horovod4j.Communicator;
import org.horovod4j.ConfigurationException;
import org.horovod4j.checkpoint.CheckpointException;
import org.horovod4j.djl.OptimizerState;
import org.horovod4j.djl.Parameters;
import org.horovod4j.djl.SmallNetwork;
import org.horovod4j.testing.World;
import org.horovod4j.training.Epochs;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

class CheckpointsTest {
    @TempDir private Path folder;

    @Test
    void resumeRestoresParametersOptimizerStateAndCounts() {
        World.run(
                2,
                comm -> {
                    try (Model model = SmallNetwork.model();
                            Model other = SmallNetwork.model()) {
                        Optimizer adam = Optimizer.adam().build();
                        Checkpoints checkpoints = checkpoints(comm, adam).build();
                        Trainer trainer = trainer(model, checkpoints);
                        assertThat(checkpoints.resume(trainer)).isZero();
                        SmallNetwork.train(model, adam, 3);
                        trainer.notifyListeners(listener -> listener.onEpoch(trainer));
                        List<String> saved = comm.broadcastObject("s", state(model, adam), 0);

                        Optimizer fresh = Optimizer.adam().build();
                        Epochs epochs = new Epochs(10);
                        Checkpoints again = checkpoints(comm, fresh).epochs(epochs).build();
                        Trainer resumed = trainer(other, again);
                        assertThat(again.resume(resumed)).isEqualTo(1);
                        assertThat(state(other, fresh)).isEqualTo(saved);
                        assertThat(OptimizerState.of(fresh, other.getBlock()).updates())
                                .isEqualTo(3);
                        assertThat(epochs.positionOf(4))
                                .isEqualTo(new Epochs.UpdatePosition(1, 0, 10));
                    }
                });
    }

    @Test
    void writeFailureOnRankZeroFailsAllRanks() throws IOException {
        Path file = Files.writeString(folder.resolve("file"), "not a folder");
        World.run(
                2,
                comm -> {
                    try (Model model = SmallNetwork.model()) {
                        Checkpoints checkpoints =
                                Checkpoints.in(file)
                                        .optimizer(Optimizer.adam().build())
                                        .communicator(comm)
                                        .build();
                        Trainer trainer = trainer(model, checkpoints);
                        assertThatThrownBy(() -> checkpoints.save(trainer))
                                .isInstanceOf(CheckpointException.class)
                                .hasMessageContaining("rank 0 could not save")
                                .hasMessageContaining(file.toString());
                        assertThatThrownBy(() -> checkpoints.resume(trainer))
                                .as("at the start already")
                                .isInstanceOf(CheckpointException.class)
                                .hasMessage(
                                        """
                                        rank 0 could not resume training: %s exists and is not a folder
                                        Remove it, or use another folder for checkpoints.""",
                                        file);
                    }
                });
    }

    @Test
    void checkpointOfOtherNetworkFailsAllRanks() {
        World.run(
                2,
                comm -> {
                    try (Model model = SmallNetwork.model();
                            Model other = Model.newInstance("other", "PyTorch")) {
                        Optimizer adam = Optimizer.adam().build();
                        Checkpoints checkpoints = checkpoints(comm, adam).build();
                        checkpoints.save(trainer(model, checkpoints));

                        other.setBlock(
                                new SequentialBlock().add(Linear.builder().setUnits(4).build()));
                        Trainer trainer = trainer(other, checkpoints);
                        assertThatThrownBy(() -> checkpoints.resume(trainer))
                                .isInstanceOf(CheckpointException.class)
                                .hasMessageContaining(
                                        "epoch-0000.checkpoint is a checkpoint of another")
                                .hasMessageContaining("lacks '02BatchNorm_gamma'")
                                .hasMessageContaining("Use another folder");
                    }
                });
    }

    @Test
    void checkpointOfOtherOptimizerFailsAllRanks() {
        World.run(
                2,
                comm -> {
                    try (Model model = SmallNetwork.model()) {
                        Optimizer adam = Optimizer.adam().build();
                        Checkpoints checkpoints = checkpoints(comm, adam).build();
                        Trainer trainer = trainer(model, checkpoints);
                        SmallNetwork.train(model, adam, 1);
                        checkpoints.save(trainer);

                        Checkpoints others = checkpoints(comm, Optimizer.adagrad().build()).build();
                        assertThatThrownBy(() -> others.resume(trainer))
                                .isInstanceOf(CheckpointException.class)
                                .hasMessageContaining("Adagrad has no 'means'");
                    }
                });
    }

    @Test
    void mustFollowEvaluatorListener() {
        World.run(
                1,
                comm -> {
                    Checkpoints checkpoints =
                            checkpoints(comm, Optimizer.adam().build()).best("train_loss").build();
                    DefaultTrainingConfig config =
                            new DefaultTrainingConfig(Loss.l2Loss())
                                    .addTrainingListeners(checkpoints)
                                    .addTrainingListeners(TrainingListener.Defaults.basic());
                    try (Model model = SmallNetwork.model()) {
                        assertThatThrownBy(() -> model.newTrainer(config))
                                .isInstanceOf(ConfigurationException.class)
                                .hasMessageContaining("Checkpoints must come after");
                    }
                });
    }

    @Test
    void bestModelNeedsEvaluatorListener() {
        World.run(
                1,
                comm -> {
                    DefaultTrainingConfig config =
                            new DefaultTrainingConfig(Loss.l2Loss())
                                    .addTrainingListeners(
                                            checkpoints(comm, Optimizer.adam().build())
                                                    .best("train_loss")
                                                    .build(),
                                            new TrainingListenerAdapter() {});
                    try (Model model = SmallNetwork.model()) {
                        assertThatThrownBy(() -> model.newTrainer(config))
                                .isInstanceOf(ConfigurationException.class)
                                .hasMessageContaining(
                                        "which is missing; the listeners are [Checkpoints, CheckpointsTest$1]");
                    }
                });
    }

    @ParameterizedTest
    @CsvSource({
        "validate_Acuracy, Did you mean validate_Accuracy?",
        "trian_loss, Did you mean train_loss?",
        "perplexity, 'there are [train_Accuracy, train_L2Loss, train_loss, validate_Accuracy,"
                + " validate_L2Loss, validate_loss].'"
    })
    void unknownMetricIsRejectedBeforeTraining(String misspelt, String suggestion) {
        assertThatExceptionOfType(ConfigurationException.class)
                .isThrownBy(() -> makeTrainerThatKeepsBest(misspelt))
                .withMessageContaining("there is no metric '" + misspelt + "'")
                .withMessageEndingWith(suggestion);
    }

    @ParameterizedTest
    @ValueSource(strings = {"train_loss", "validate_loss", "validate_Accuracy", "train_L2Loss"})
    void metricOfEvaluatorIsAccepted(String metric) {
        assertThatNoException().isThrownBy(() -> makeTrainerThatKeepsBest(metric));
    }

    private void makeTrainerThatKeepsBest(String metric) {
        Checkpoints checkpoints =
                Checkpoints.in(folder).optimizer(Optimizer.adam().build()).best(metric).build();
        DefaultTrainingConfig config =
                new DefaultTrainingConfig(Loss.l2Loss())
                        .addEvaluator(new Accuracy())
                        .addTrainingListeners(TrainingListener.Defaults.basic())
                        .addTrainingListeners(checkpoints);
        try (Model model = SmallNetwork.model();
                Trainer _ = model.newTrainer(config)) {}
    }

    @Test
    void partialFileOfCrashedProcessIsIgnored() throws IOException {
        Path torn = folder.resolve(".partial-0007.params");
        Files.writeString(torn, "cut off");
        try (Model model = SmallNetwork.initialised();
                Model read = SmallNetwork.model()) {
            BestModel.save(model, folder);
            assertThat(torn).doesNotExist();
            assertThatNoException().isThrownBy(() -> read.load(folder));
            assertThat(SmallNetwork.contents(Parameters.arrays(read.getBlock())))
                    .isEqualTo(SmallNetwork.contents(Parameters.arrays(model.getBlock())));
        }
    }

    @Test
    void resumeKeepsLocalParameters() {
        World.run(
                2,
                comm -> {
                    try (Model model = SmallNetwork.initialised()) {
                        Optimizer adam = Optimizer.adam().build();
                        Predicate<String> isLocal = name -> name.startsWith("04");
                        Checkpoints checkpoints = checkpoints(comm, adam).local(isLocal).build();
                        Trainer trainer = trainer(model, checkpoints);
                        SmallNetwork.train(model, adam, 1);
                        checkpoints.save(trainer);
                        List<String> before = state(model, adam);
                        checkpoints.resume(trainer);
                        List<String> after = state(model, adam);
                        List<String> roots = comm.broadcastObject("root", before, 0);
                        for (int i = 0; i < after.size(); i++) {
                            boolean local = after.get(i).contains("04Linear");
                            assertThat(after.get(i)).isEqualTo((local ? before : roots).get(i));
                        }
                        assertThat(after).anyMatch(array -> array.contains("04Linear"));
                        assertThat(before.equals(roots)).isEqualTo(comm.rank() == 0);
                    }
                });
    }

    private Checkpoints.Builder checkpoints(Communicator comm, Optimizer optimizer) {
        return Checkpoints.in(folder.resolve("checkpoints"))
                .optimizer(optimizer)
                .communicator(comm);
    }

    private static Trainer trainer(Model model, Checkpoints checkpoints) {
        Trainer trainer =
                model.newTrainer(
                        new DefaultTrainingConfig(Loss.l2Loss())
                                .addTrainingListeners(TrainingListener.Defaults.basic())
                                .addTrainingListeners(checkpoints));
        trainer.initialize(new Shape(1, SmallNetwork.INPUTS));
        return trainer;
    }

    private static List<String> state(Model model, Optimizer optimizer) {
        Map<String, NDArray> arrays = Parameters.arrays(model.getBlock());
        arrays.putAll(OptimizerState.of(optimizer, model.getBlock()).arrays());
        return SmallNetwork.contents(arrays);
    }
}
