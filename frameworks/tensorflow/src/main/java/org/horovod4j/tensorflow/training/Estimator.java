package org.horovod4j.tensorflow.training;

import org.horovod4j.Communicator;
import org.horovod4j.checkpoint.CheckpointException;
import org.horovod4j.checkpoint.CheckpointFolder;
import org.horovod4j.data.Prefetcher;
import org.horovod4j.tensorflow.HvdTensorFlow;
import org.horovod4j.training.CommunicatorProvider;
import org.horovod4j.training.LearningRate;
import org.tensorflow.Graph;
import org.tensorflow.Operand;
import org.tensorflow.Tensor;
import org.tensorflow.op.Op;
import org.tensorflow.proto.ConfigProto;

import java.nio.file.Path;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/// Trains, evaluates and predicts with a function that builds a graph and a function that returns
/// batches, as `tf.estimator.Estimator` does.
///
/// ```java
/// Estimator estimator =
///         Estimator.of(Digits::build, Path.of("model"))
///                 .learningRate(LearningRateWarmup.to(0.001f * Hvd.size(), Hvd.size(), 1, epochs))
///                 .build();
/// estimator.train(step -> trainingBatches(step), 20_000 / Hvd.size());
/// double accuracy = estimator.evaluate(_ -> testBatches()).metrics().get("accuracy");
/// ```
///
/// Each call builds a graph of its own. Variables pass from one call to the next through checkpoints
/// in the folder of the model, which only rank 0 writes and reads. So the function must give variables
/// the same names in each [Mode].
///
/// All ranks call all methods, each with its own part of the data. They need the same number of
/// batches to train, but not to evaluate and to predict.
public final class Estimator {
    private final ModelFunction modelFunction;
    private final Path folder;
    private final CommunicatorProvider communicators;
    private final Optional<LearningRate> learningRate;
    private final Optional<ConfigProto> config;
    private final int saveEvery;
    private final int kept;
    private final int logEvery;
    private final int prefetched;

    private Estimator(Builder builder) {
        this.modelFunction = builder.modelFunction;
        this.folder = builder.folder;
        this.communicators = builder.communicators;
        this.learningRate = builder.learningRate;
        this.config = builder.config;
        this.saveEvery = builder.saveEvery;
        this.kept = builder.kept;
        this.logEvery = builder.logEvery;
        this.prefetched = builder.prefetched;
    }

    /// What a graph is for.
    public enum Mode {
        TRAIN,
        EVALUATE,
        PREDICT
    }

    /// Builds a network.
    @FunctionalInterface
    public interface ModelFunction {
        /// Builds the network in an empty graph, the same on all ranks.
        ModelSpec build(Graph graph, Mode mode);
    }

    /// Returns batches.
    @FunctionalInterface
    public interface InputFunction {
        /// The batches of this rank. Another thread reads them ahead, and the estimator closes them.
        ///
        /// @param step the number of complete steps, so that a training that resumes continues with
        ///     the epoch in which it was; 0 if this is not a training
        Iterator<TensorBatch> batches(int step);
    }

    /// The result of an evaluation.
    ///
    /// @param step of the checkpoint
    /// @param metrics averages over all samples of all ranks
    public record Evaluation(int step, Map<String, Double> metrics) {}

    /// An estimator of a network.
    ///
    /// @param modelFolder the folder of checkpoints on rank 0, which is created when it is missing
    public static Builder of(ModelFunction modelFunction, Path modelFolder) {
        return new Builder(modelFunction, modelFolder);
    }

    /// Trains, from the newest checkpoint if there is one, and saves. All ranks call this.
    ///
    /// @param lastStep training ends after this step, those of earlier calls included, or when there
    ///     are no more batches
    /// @return the number of complete steps
    /// @throws CheckpointException on all ranks, when rank 0 cannot use the folder
    public int train(InputFunction input, int lastStep) {
        try (Graph graph = new Graph()) {
            ModelSpec model = modelFunction.build(graph, Mode.TRAIN);
            Op trainOp =
                    model.trainOp()
                            .orElseThrow(
                                    () ->
                                            new IllegalArgumentException(
                                                    "the model has no trainOp in mode TRAIN"));
            try (TrainingSession training = training(graph, model, trainOp, lastStep)) {
                train(training, model, input);
                return training.step();
            }
        }
    }

    private TrainingSession training(Graph graph, ModelSpec model, Op trainOp, int lastStep) {
        TrainingSession.Builder builder =
                TrainingSession.of(graph, trainOp)
                        .checkpoints(folder)
                        .saveEvery(saveEvery)
                        .keep(kept)
                        .stopAtStep(lastStep)
                        .communicators(communicators);
        learningRate.ifPresent(builder::learningRate);
        config.ifPresent(builder::config);
        if (logEvery > 0) {
            MetricLog log = MetricLog.every(logEvery);
            model.metrics().forEach(log::metric);
            builder.hook(log);
        }
        model.hooks().forEach(builder::hook);
        return builder.start();
    }

    private void train(TrainingSession training, ModelSpec model, InputFunction input) {
        if (training.shouldStop()) {
            return;
        }
        try (Prefetcher<TensorBatch> batches = prefetch(input, training.step())) {
            while (!training.shouldStop()) {
                if (batches.hasNext()) {
                    try (TensorBatch batch = batches.next()) {
                        training.run(feeds -> model.feed(batch, feeds::feed));
                    }
                } else {
                    training.requestStop();
                }
            }
        }
    }

    private Prefetcher<TensorBatch> prefetch(InputFunction input, int step) {
        return new Prefetcher<>(input.batches(step), prefetched, TensorBatch::close);
    }

    /// Computes the metrics of the newest checkpoint over the batches of all ranks. All ranks call
    /// this. Each sample counts alike, whichever batch and rank it belongs to.
    ///
    /// @throws CheckpointException on all ranks, when rank 0 has no checkpoint that it can use
    public Evaluation evaluate(InputFunction input) {
        try (RestoredModel restored = restore(Mode.EVALUATE)) {
            MetricAverages averages = new MetricAverages();
            restored.model().metrics().forEach(averages::add);
            List<Operand<?>> metrics = averages.outputs();
            try (Prefetcher<TensorBatch> batches = prefetch(input, 0)) {
                restored.run(
                        batches,
                        metrics,
                        (batch, result) ->
                                averages.addBatch(
                                        batch.samples(),
                                        metric ->
                                                Scalars.valueOf(
                                                        metric,
                                                        result.get(metrics.indexOf(metric)))));
            }
            return new Evaluation(restored.step(), averages.overRanks(communicators.current()));
        }
    }

    /// Predicts with the newest checkpoint. All ranks call this, and each gets the predictions for its
    /// own batches.
    ///
    /// @param predictions called with the predictions of each batch, by name, which are valid during
    ///     the call
    /// @throws CheckpointException on all ranks, when rank 0 has no checkpoint that it can use
    public void predict(InputFunction input, Consumer<Map<String, Tensor>> predictions) {
        try (RestoredModel restored = restore(Mode.PREDICT);
                Prefetcher<TensorBatch> batches = prefetch(input, 0)) {
            Map<String, Operand<?>> outputs = restored.model().predictions();
            restored.run(
                    batches,
                    List.copyOf(outputs.values()),
                    (_, result) -> {
                        Map<String, Tensor> values = new LinkedHashMap<>();
                        for (String name : outputs.keySet()) {
                            values.put(name, result.get(values.size()));
                        }
                        predictions.accept(values);
                    });
        }
    }

    private RestoredModel restore(Mode mode) {
        Communicator communicator = communicators.current();
        return RestoredModel.open(
                graph -> modelFunction.build(graph, mode), checkpoints(), communicator, config);
    }

    private CheckpointFolder checkpoints() {
        return new CheckpointFolder(folder, kept, CheckpointFolder.Unit.STEP);
    }

    /// Writes the network of the newest checkpoint as a SavedModel, on rank 0. Any program with
    /// TensorFlow loads it, without Horovod4J. All ranks call this.
    ///
    /// The model is that of mode PREDICT. Its signature `serving_default` has the predictions and the
    /// inputs that they need.
    ///
    /// @param target a folder that does not exist
    /// @throws CheckpointException on all ranks, when rank 0 has no checkpoint, cannot write the
    ///     folder, or the predictions use collectives
    public void exportSavedModel(Path target) {
        Communicator communicator = communicators.current();
        CheckpointFolder checkpoints = checkpoints();
        Map<String, String> _ =
                checkpoints.onRankZero(
                        communicator,
                        "export the model to " + target,
                        () -> {
                            SavedModelExport.write(
                                    graph -> modelFunction.build(graph, Mode.PREDICT),
                                    checkpoints,
                                    config.orElseGet(() -> HvdTensorFlow.config(communicator)),
                                    target);
                            return Map.of();
                        });
    }

    /// Options of an estimator.
    public static final class Builder {
        private final ModelFunction modelFunction;
        private final Path folder;
        private CommunicatorProvider communicators = CommunicatorProvider.FROM_HVD;
        private Optional<LearningRate> learningRate = Optional.empty();
        private Optional<ConfigProto> config = Optional.empty();
        private int saveEvery = TrainingSession.SAVE_EVERY;
        private int kept = TrainingSession.KEPT;
        private int logEvery = 100;
        private int prefetched = 2;

        private Builder(ModelFunction modelFunction, Path folder) {
            this.modelFunction = modelFunction;
            this.folder = folder;
        }

        /// See [TrainingSession.Builder#learningRate].
        public Builder learningRate(LearningRate rate) {
            learningRate = Optional.of(rate);
            return this;
        }

        /// The number of steps between checkpoints; 1000 by default. The last step is saved too.
        public Builder saveEvery(int steps) {
            saveEvery = steps;
            return this;
        }

        /// How many of the newest checkpoints are kept; 5 by default.
        public Builder keep(int newest) {
            kept = newest;
            return this;
        }

        /// The number of steps between lines with the metrics, as [MetricLog] prints them; 100 by
        /// default, none if 0.
        public Builder logEvery(int steps) {
            logEvery = steps;
            return this;
        }

        /// How many batches are read ahead; 2 by default.
        public Builder prefetch(int batches) {
            prefetched = batches;
            return this;
        }

        /// The configuration of sessions; [HvdTensorFlow#config(Communicator)] by default.
        public Builder config(ConfigProto value) {
            config = Optional.of(value);
            return this;
        }

        /// The ranks that work together; all ranks of `Hvd` by default.
        public Builder communicator(Communicator value) {
            communicators = new CommunicatorProvider(value);
            return this;
        }

        public Estimator build() {
            return new Estimator(this);
        }
    }
}
