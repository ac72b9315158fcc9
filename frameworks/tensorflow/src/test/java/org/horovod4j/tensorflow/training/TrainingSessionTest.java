package org.horovod4j.tensorflow.training;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.assertj.core.data.Offset;
import org.horovod4j.Communicator;
import org.horovod4j.checkpoint.CheckpointException;
import org.horovod4j.tensorflow.Adam;
import org.horovod4j.testing.World;
import org.horovod4j.training.LearningRate;
import org.horovod4j.training.TrainingProgress;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.tensorflow.Graph;
import org.tensorflow.framework.optimizers.AdaDelta;
import org.tensorflow.framework.optimizers.AdaGrad;
import org.tensorflow.framework.optimizers.AdaGradDA;
import org.tensorflow.framework.optimizers.Adamax;
import org.tensorflow.framework.optimizers.Ftrl;
import org.tensorflow.framework.optimizers.GradientDescent;
import org.tensorflow.framework.optimizers.Momentum;
import org.tensorflow.framework.optimizers.Nadam;
import org.tensorflow.framework.optimizers.Optimizer;
import org.tensorflow.framework.optimizers.RMSProp;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;

/// Sessions of ranks that are threads of this JVM.
class TrainingSessionTest {
    @TempDir Path folder;

    private static Optimizer adam(Graph graph) {
        return new Adam(graph, 0.01f);
    }

    private static float[] train(
            Communicator comm, UnaryOperator<TrainingSession.Builder> options) {
        try (LinearModel model =
                        LinearModel.distributed(comm, comm.rank(), TrainingSessionTest::adam);
                TrainingSession training =
                        options.apply(
                                        TrainingSession.of(model.graph, model.trainOp)
                                                .communicator(comm))
                                .start()) {
            while (!training.shouldStop()) {
                model.run(training, comm.rank());
            }
            return model.weights(training);
        }
    }

    @Test
    void ranksStartWithTheVariablesOfRankZero() {
        World.run(
                2,
                comm -> {
                    try (LinearModel model =
                                    LinearModel.distributed(
                                            comm, comm.rank(), TrainingSessionTest::adam);
                            TrainingSession training =
                                    TrainingSession.of(model.graph, model.trainOp)
                                            .communicator(comm)
                                            .stopAtStep(0)
                                            .start()) {
                        assertThat(model.weights(training)).containsExactly(0, -0.5f);
                        assertThat(training.shouldStop()).isTrue();
                    }
                });
    }

    @Test
    void trainingContinuesFromItsCheckpoint() {
        World.run(
                2,
                comm -> {
                    Path own = folder.resolve("rank-" + comm.rank());
                    float[] expected = train(comm, options -> options.stopAtStep(7));
                    float[] _ =
                            train(
                                    comm,
                                    options -> options.checkpoints(own).saveEvery(2).stopAtStep(5));
                    float[] resumed =
                            train(comm, options -> options.checkpoints(own).stopAtStep(7));

                    assertThat(resumed).containsExactly(expected);
                });
        assertThat(folder.resolve("rank-0"))
                .isDirectoryContaining("glob:**/step-0002.checkpoint")
                .isDirectoryContaining("glob:**/step-0004.checkpoint")
                .isDirectoryContaining("glob:**/step-0005.checkpoint")
                .isDirectoryContaining("glob:**/step-0007.checkpoint");
        assertThat(folder.resolve("rank-1")).doesNotExist();
    }

    @Test
    void checkpointOfAnotherNetworkIsRejectedOnAllRanks() {
        World.run(
                2,
                comm -> {
                    float[] _ = train(comm, options -> options.checkpoints(folder).stopAtStep(1));
                    try (LinearModel other =
                            LinearModel.distributed(
                                    comm, 0, graph -> new GradientDescent(graph, 0.1f))) {
                        assertThatThrownBy(
                                        () ->
                                                TrainingSession.of(other.graph, other.trainOp)
                                                        .communicator(comm)
                                                        .checkpoints(folder)
                                                        .start())
                                .isInstanceOf(CheckpointException.class)
                                .hasMessageContaining(
                                        "step-0001.checkpoint is a checkpoint of another network or optimizer")
                                .hasMessageContaining("lacks 'beta1_power'");
                    }
                });
    }

    @Test
    void failedStepFailsOnAllRanksAndTrainingContinuesFromRankZero() {
        World.run(
                2,
                comm -> {
                    float[] expected = train(comm, options -> options.stopAtStep(6));
                    try (LinearModel model =
                                    LinearModel.distributed(
                                            comm, comm.rank(), TrainingSessionTest::adam);
                            TrainingSession training =
                                    TrainingSession.of(model.graph, model.trainOp)
                                            .communicator(comm)
                                            .checkpoints(folder)
                                            .stopAtStep(6)
                                            .start()) {
                        for (int failing = 0; failing < 2; failing++) {
                            model.run(training, comm.rank());
                            model.run(training, comm.rank());
                            int fails = failing;
                            assertThatThrownBy(
                                            () -> {
                                                if (comm.rank() == fails) {
                                                    model.runBadBatch(training);
                                                } else {
                                                    model.run(training, comm.rank());
                                                }
                                            })
                                    .isInstanceOf(RuntimeException.class)
                                    .hasMessageContaining("[3,7]")
                                    .hasMessageContaining(
                                            comm.rank() == failing
                                                    ? ""
                                                    : "the step of rank %d has failed"
                                                            .formatted(failing));
                        }
                        while (!training.shouldStop()) {
                            model.run(training, comm.rank());
                        }
                        assertThat(model.weights(training)).containsExactly(expected);
                    }
                });
        assertThat(folder).isDirectoryContaining("glob:**/step-0006.checkpoint");
    }

    @Test
    void failedTrainingSavesNothing() {
        List<String> events = new ArrayList<>();
        TrainingHook recorder =
                new TrainingHook() {
                    @Override
                    public void atEnd(TrainingSession session) {
                        events.add("end");
                    }
                };
        World.run(
                1,
                comm ->
                        assertThatThrownBy(
                                        () -> {
                                            try (LinearModel model =
                                                            LinearModel.distributed(
                                                                    comm,
                                                                    0,
                                                                    TrainingSessionTest::adam);
                                                    TrainingSession training =
                                                            TrainingSession.of(
                                                                            model.graph,
                                                                            model.trainOp)
                                                                    .communicator(comm)
                                                                    .checkpoints(folder)
                                                                    .hook(recorder)
                                                                    .stopAtStep(1)
                                                                    .start()) {
                                                model.run(training, 0);
                                                training.run(_ -> {}); // feeds nothing
                                            }
                                        })
                                .hasMessageContaining("must feed a value for placeholder"));
        assertThat(folder).isEmptyDirectory();
        assertThat(events).isEmpty();
    }

    @Test
    void loopThatEndsEarlySavesNothing() {
        World.run(
                1,
                comm -> {
                    try (LinearModel model =
                                    LinearModel.distributed(comm, 0, TrainingSessionTest::adam);
                            TrainingSession training =
                                    TrainingSession.of(model.graph, model.trainOp)
                                            .communicator(comm)
                                            .checkpoints(folder)
                                            .stopAtStep(9)
                                            .start()) {
                        model.run(training, 0);
                    }
                });
        assertThat(folder).isEmptyDirectory();
    }

    @Test
    void hookMayStopTraining() {
        World.run(
                2,
                comm -> {
                    TrainingHook stop =
                            new TrainingHook() {
                                @Override
                                public void afterStep(TrainingStep step) {
                                    if (step.number() == 3) {
                                        step.session().requestStop();
                                    }
                                }
                            };
                    float[] stopped = train(comm, options -> options.hook(stop));
                    float[] expected = train(comm, options -> options.stopAtStep(3));
                    assertThat(stopped).containsExactly(expected);
                });
    }

    /// The optimizers of TensorFlow Java, with a learning rate.
    enum Kind {
        GRADIENT_DESCENT,
        MOMENTUM,
        ADA_GRAD,
        ADA_GRAD_DA,
        ADA_DELTA,
        RMS_PROP,
        CENTERED_RMS_PROP,
        ADAM,
        ADAMAX,
        FTRL;

        Optimizer create(Graph graph, float rate) {
            return switch (this) {
                case GRADIENT_DESCENT -> new GradientDescent(graph, rate);
                case MOMENTUM -> new Momentum(graph, rate, 0.9f);
                case ADA_GRAD -> new AdaGrad(graph, rate);
                case ADA_GRAD_DA -> new AdaGradDA(graph, rate);
                case ADA_DELTA -> new AdaDelta(graph, rate);
                case RMS_PROP -> new RMSProp(graph, rate);
                case CENTERED_RMS_PROP -> new RMSProp(graph, rate, 0.9f, 0, 1e-10f, true);
                case ADAM -> new Adam(graph, rate);
                case ADAMAX -> new Adamax(graph, rate);
                case FTRL -> new Ftrl(graph, rate);
            };
        }
    }

    /// Without Adamax: its step depends on whether TensorFlow first updates the weights or the power of
    /// beta, and that varies from run to run.
    @ParameterizedTest
    @EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "ADAMAX")
    void learningRateTakesThePlaceOfTheConstant(Kind kind) {
        float[] expected = trainOneStep(kind, 0.25f, options -> options);
        float[] scheduled =
                trainOneStep(
                        kind, 0.5f, options -> options.learningRate(LearningRate.constant(0.25f)));
        float[] other = trainOneStep(kind, 0.5f, options -> options);

        assertThat(scheduled).containsExactly(expected);
        assertThat(other).isNotEqualTo(expected);
    }

    @Test
    void learningRateTakesThePlaceOfTheConstantOfAdamax() {
        float[] none =
                trainOneStep(
                        Kind.ADAMAX,
                        0.5f,
                        options -> options.learningRate(LearningRate.constant(0)));
        float[] some = trainOneStep(Kind.ADAMAX, 0.5f, options -> options);

        assertThat(some).isNotEqualTo(none);
    }

    private static float[] trainOneStep(
            Kind kind, float rate, UnaryOperator<TrainingSession.Builder> options) {
        List<float[]> weights = new ArrayList<>();
        World.run(
                1,
                comm -> {
                    try (LinearModel model =
                                    LinearModel.distributed(
                                            comm, 1, graph -> kind.create(graph, rate));
                            TrainingSession training =
                                    options.apply(
                                                    TrainingSession.of(model.graph, model.trainOp)
                                                            .communicator(comm)
                                                            .stopAtStep(1))
                                            .start()) {
                        model.run(training, 0);
                        weights.add(model.weights(training));
                    }
                });
        return weights.getFirst();
    }

    @Test
    void learningRateFollowsTheSteps() {
        World.run(
                1,
                comm -> {
                    try (LinearModel model =
                                    new LinearModel(1, graph -> new GradientDescent(graph, 1));
                            TrainingSession training =
                                    TrainingSession.of(model.graph, model.trainOp)
                                            .communicator(comm)
                                            .learningRate(step -> step == 2 ? 0.1f : 0)
                                            .stopAtStep(2)
                                            .start()) {
                        float[] before = model.weights(training);
                        assertThat(training.learningRate()).isEmpty();
                        model.run(training, 0);
                        assertThat(model.weights(training)).containsExactly(before);
                        assertThat(training.learningRate()).hasValue(0);
                        model.run(training, 0);
                        assertThat(model.weights(training)).isNotEqualTo(before);
                        assertThat(training.learningRate()).hasValue(0.1f);
                    }
                });
    }

    @Test
    void optimizerWithoutLearningRateInputIsRejected() {
        World.run(
                1,
                comm -> {
                    try (LinearModel model = new LinearModel(1, graph -> new Nadam(graph, 0.1f))) {
                        assertThatThrownBy(
                                        () ->
                                                TrainingSession.of(model.graph, model.trainOp)
                                                        .communicator(comm)
                                                        .learningRate(LearningRate.constant(1))
                                                        .start())
                                .isInstanceOf(IllegalArgumentException.class)
                                .hasMessageContaining("no optimizer whose learning rate");
                    }
                });
    }

    @Test
    void metricsAreAveragedOverStepsAndRanks() {
        AtomicLong clock = new AtomicLong();
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        World.run(
                2,
                comm -> {
                    try (LinearModel model =
                            LinearModel.distributed(comm, 0, TrainingSessionTest::adam)) {
                        var rank = model.tf.constant(10f * (comm.rank() + 1));
                        MetricLog log =
                                MetricLog.every(2)
                                        .metric("loss", model.loss)
                                        .metric("rank", rank)
                                        .clock(() -> clock.addAndGet(250_000_000))
                                        .output(new PrintStream(printed, true));
                        List<Double> losses = new ArrayList<>();
                        TrainingHook recorder =
                                new TrainingHook() {
                                    @Override
                                    public void afterStep(TrainingStep step) {
                                        losses.add(step.scalar(model.loss));
                                    }
                                };
                        try (TrainingSession training =
                                TrainingSession.of(model.graph, model.trainOp)
                                        .communicator(comm)
                                        .hook(log)
                                        .hook(recorder)
                                        .stopAtStep(2)
                                        .start()) {
                            model.run(training, comm.rank());
                            assertThat(log.last()).isEmpty();
                            model.run(training, comm.rank());
                        }
                        double own = (losses.get(0) + losses.get(1)) / 2;
                        double mean =
                                comm.allgatherObject("own", own).stream()
                                        .mapToDouble(Double::doubleValue)
                                        .average()
                                        .orElseThrow();
                        assertThat(log.last()).containsEntry("rank", 15.0);
                        assertThat(log.last().get("loss")).isCloseTo(mean, Offset.offset(1e-9));
                    }
                });
        // the ranks share the clock, so the rates differ
        assertThat(printed.toString(StandardCharsets.UTF_8))
                .containsPattern(
                        "^step 2 \\| loss \\d\\.\\d{4} \\| rank 15\\.0000 \\| \\d\\.\\d steps/s\\R")
                .containsPattern("\\R2 steps done \\| \\d\\.\\d steps/s\\R$");
    }

    @Test
    void metricMustBeAScalar() {
        World.run(
                1,
                comm -> {
                    try (LinearModel model =
                                    LinearModel.distributed(comm, 0, TrainingSessionTest::adam);
                            TrainingSession training =
                                    TrainingSession.of(model.graph, model.trainOp)
                                            .communicator(comm)
                                            .hook(MetricLog.every(1).metric("w", model.weights))
                                            .stopAtStep(1)
                                            .start()) {
                        assertThatThrownBy(() -> model.run(training, 0))
                                .hasMessageContaining("'weights' has shape [2, 1]");
                    }
                });
    }

    @Test
    void progressShowsEpochsOfTheWholeJob() {
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        World.run(
                2,
                comm -> {
                    TrainingProgress progress =
                            TrainingProgress.ofEpochs(2)
                                    .stepsPerEpoch(3)
                                    .communicator(comm)
                                    .output(new PrintStream(printed, true), false)
                                    .build();
                    try (LinearModel model =
                                    LinearModel.distributed(comm, 0, TrainingSessionTest::adam);
                            TrainingSession training =
                                    TrainingSession.of(model.graph, model.trainOp)
                                            .communicator(comm)
                                            .learningRate(LearningRate.constant(0.125f))
                                            .hook(
                                                    new ProgressHook(progress, 3, 4)
                                                            .metric("loss", model.loss))
                                            .stopAtStep(6)
                                            .start()) {
                        while (!training.shouldStop()) {
                            model.run(training, comm.rank());
                        }
                    }
                });
        assertThat(printed.toString(StandardCharsets.UTF_8).lines())
                .anySatisfy(
                        line ->
                                assertThat(line)
                                        .startsWith("epoch 1/2 done")
                                        .contains("loss ")
                                        .endsWith("learning rate 0.125"))
                .anySatisfy(line -> assertThat(line).startsWith("epoch 2/2 done"))
                .anySatisfy(line -> assertThat(line).startsWith("trained on 48 images"));
    }

    @Test
    void unusableFolderFailsBeforeTraining() throws Exception {
        Path file = Files.createFile(folder.resolve("file"));
        World.run(
                2,
                comm ->
                        assertThatThrownBy(
                                        () ->
                                                train(
                                                        comm,
                                                        options ->
                                                                options.checkpoints(file)
                                                                        .stopAtStep(1)))
                                .isInstanceOf(CheckpointException.class)
                                .hasMessageContaining("exists and is not a folder"));
    }
}
