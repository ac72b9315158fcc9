package org.horovod4j.djl.training;

import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.training.Trainer;
import ai.djl.training.listener.TrainingListenerAdapter;
import ai.djl.training.optimizer.Optimizer;

import org.horovod4j.Communicator;
import org.horovod4j.Tensor;
import org.horovod4j.checkpoint.BestMetric;
import org.horovod4j.checkpoint.CheckpointException;
import org.horovod4j.checkpoint.CheckpointFile;
import org.horovod4j.checkpoint.CheckpointFolder;
import org.horovod4j.djl.ArraySpecs;
import org.horovod4j.djl.OptimizerState;
import org.horovod4j.djl.Parameters;
import org.horovod4j.djl.ShardedSampler;
import org.horovod4j.djl.TensorView;
import org.horovod4j.training.CommunicatorProvider;
import org.horovod4j.training.Epochs;
import org.horovod4j.training.TensorSpec;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.function.Predicate;
import java.util.function.Supplier;

/// Saves a checkpoint after every epoch, and resumes from the newest one on any number of ranks: a
/// [CheckpointFolder] as a listener of DJL.
///
/// ```java
/// Checkpoints checkpoints = Checkpoints.in(Path.of("checkpoints"))
///         .optimizer(optimizer).sampler(sampler).epochs(epochs)
///         .best("validate_Accuracy")
///         .build();
/// config.addTrainingListeners(checkpoints);     // after TrainingListener.Defaults
/// trainer.initialize(shape);
/// int done = checkpoints.resume(trainer);       // 0 at the first start
/// EasyTrain.fit(trainer, 10 - done, train, test);
/// ```
///
/// Only rank 0 writes and reads files. All ranks wait for it, and if it fails, all ranks throw. A
/// checkpoint has the parameters, including frozen ones and running statistics, the optimizer's
/// state, the numbers of epochs and updates, and the epoch of the sampler. Settings such as momentum
/// or batch size belong to the program and may change before it resumes.
public final class Checkpoints extends TrainingListenerAdapter {
    private static final String PARAMETER = "parameter/";
    private static final String OPTIMIZER = "optimizer/";
    private static final String COUNT = "count/";

    private final CommunicatorProvider communicators;
    private final CheckpointFolder folder;
    private final Optimizer optimizer;
    private final Optional<ShardedSampler> sampler;
    private final Optional<Epochs> epochs;
    private final Optional<BestMetric> best;
    private final int every;
    private final Predicate<String> shared;
    private int epoch;

    private Checkpoints(Builder builder, Optimizer optimizer) {
        this.communicators = builder.communicators;
        this.optimizer = optimizer;
        this.folder = new CheckpointFolder(builder.folder, builder.kept);
        this.sampler = Optional.ofNullable(builder.sampler);
        this.epochs = Optional.ofNullable(builder.epochs);
        this.best = Optional.ofNullable(builder.best);
        this.every = builder.every;
        this.shared = builder.local.negate();
    }

    /// Checkpoints in this folder of rank 0, which is created when it is missing.
    public static Builder in(Path folder) {
        return new Builder(folder);
    }

    @Override
    public void onTrainingBegin(Trainer trainer) {
        if (best.isPresent()) {
            ListenerOrder.requireAfterEvaluators(trainer, this);
            BestModel.check(best.get(), trainer);
        }
    }

    @Override
    public void onEpoch(Trainer trainer) {
        epoch++;
        if (epoch % every == 0) {
            save(trainer);
        }
    }

    /// Writes a checkpoint now. All ranks call this.
    ///
    /// @throws CheckpointException on all ranks, when rank 0 could not write it
    public void save(Trainer trainer) {
        Map<String, String> _ =
                folder.onRankZero(
                        communicators.current(),
                        "save the checkpoint of epoch " + epoch,
                        () -> {
                            write(trainer);
                            return Map.of();
                        });
    }

    private void write(Trainer trainer) throws IOException {
        Model model = trainer.getModel();
        if (best.isPresent()
                && best.get().updateIfBetter(trainer.getTrainingResult().getEvaluations())) {
            BestModel.save(model, folder.folder().resolve("best"));
        }
        OptimizerState state = OptimizerState.of(optimizer, model.getBlock());
        Map<String, Supplier<Tensor>> tensors = new LinkedHashMap<>();
        Parameters.arrays(model.getBlock())
                .forEach((name, array) -> tensors.put(PARAMETER + name, view(array)));
        state.arrays().forEach((name, array) -> tensors.put(OPTIMIZER + name, view(array)));
        folder.write(epoch, metadata(state.counts()), tensors);
    }

    private static Supplier<Tensor> view(NDArray array) {
        return () -> TensorView.of(array).tensor();
    }

    private Map<String, String> metadata(OptimizerState.Counts counts) {
        Map<String, String> metadata = new LinkedHashMap<>();
        metadata.put("epoch", String.valueOf(epoch));
        metadata.put("updates", String.valueOf(counts.updates()));
        metadata.put("ranks", String.valueOf(communicators.current().size()));
        sampler.ifPresent(used -> metadata.put("sampler", String.valueOf(used.epoch())));
        best.ifPresent(
                metric ->
                        metric.best()
                                .ifPresent(value -> metadata.put("best", String.valueOf(value))));
        counts.byParameter()
                .forEach((name, count) -> metadata.put(COUNT + name, String.valueOf(count)));
        return metadata;
    }

    /// Restores the newest checkpoint, if there is one, on all ranks. All ranks call this, after
    /// `trainer.initialize`. It replaces `broadcastParameters`: without a checkpoint it overwrites
    /// the parameters of all ranks with those of rank 0.
    ///
    /// @return the number of complete epochs
    /// @throws CheckpointException on all ranks, when rank 0 cannot write into the folder, or has
    ///     checkpoints and cannot use any, or the newest one is of another network or optimizer
    public int resume(Trainer trainer) {
        Model model = trainer.getModel();
        Communicator communicator = communicators.current();
        Map<String, String> metadata =
                folder.onRankZero(communicator, "resume training", () -> restore(model));
        Parameters.broadcast(communicator, model.getBlock(), 0, shared);
        OptimizerState.of(optimizer, model.getBlock(), shared).broadcast(communicator, 0);
        if (!metadata.isEmpty()) {
            resumeAt(Position.of(metadata));
        }
        return epoch;
    }

    private void resumeAt(Position position) {
        epoch = position.epoch;
        sampler.ifPresent(used -> used.setEpoch(position.samplerEpoch));
        epochs.ifPresent(used -> used.resumeAt(position.epoch, position.updates));
        best.ifPresent(used -> used.setBest(position.best));
    }

    /// @return the metadata of the checkpoint; empty if there is none
    private Map<String, String> restore(Model model) throws IOException {
        folder.prepare();
        try (Arena arena = Arena.ofConfined()) {
            Optional<CheckpointFolder.LoadedCheckpoint> newest = folder.loadNewest(arena);
            if (newest.isEmpty()) {
                return Map.of();
            }
            restore(model, newest.get());
            return newest.get().file().metadata();
        }
    }

    private void restore(Model model, CheckpointFolder.LoadedCheckpoint checkpoint) {
        CheckpointFile file = checkpoint.file();
        Map<String, NDArray> parameters = Parameters.arrays(model.getBlock());
        OptimizerState state = OptimizerState.of(optimizer, model.getBlock());
        List<TensorSpec> optimizerSpecs = specsWithPrefix(file, OPTIMIZER);
        List<String> problems =
                new ArrayList<>(
                        TensorSpec.differences(
                                specsWithPrefix(file, PARAMETER), ArraySpecs.ofAll(parameters)));
        problems.addAll(state.mismatches(optimizerSpecs));
        if (!problems.isEmpty()) {
            throw new IllegalStateException(
                    """
                    %s is a checkpoint of another network or optimizer: this one %s. Use another folder for \
                    it."""
                            .formatted(checkpoint.path(), String.join("; ", problems)));
        }
        fill(file, PARAMETER, parameters);
        fill(file, OPTIMIZER, state.reallocate(counts(file), optimizerSpecs));
    }

    private static List<TensorSpec> specsWithPrefix(CheckpointFile file, String prefix) {
        return file.specs().stream()
                .filter(spec -> spec.name().startsWith(prefix))
                .map(
                        spec ->
                                new TensorSpec(
                                        spec.name().substring(prefix.length()),
                                        spec.dataType(),
                                        spec.shape()))
                .toList();
    }

    private static void fill(CheckpointFile file, String prefix, Map<String, NDArray> arrays) {
        arrays.forEach(
                (name, array) -> {
                    CheckpointFile.StoredTensor stored = file.tensors().get(prefix + name);
                    if (stored != null) {
                        TensorView view = TensorView.of(array);
                        view.tensor().segment().copyFrom(stored.bytes());
                        view.writeBack();
                    }
                });
    }

    private static OptimizerState.Counts counts(CheckpointFile file) {
        Map<String, Integer> byParameter = new LinkedHashMap<>();
        file.metadata()
                .forEach(
                        (name, value) -> {
                            if (name.startsWith(COUNT)) {
                                byParameter.put(
                                        name.substring(COUNT.length()), Integer.valueOf(value));
                            }
                        });
        return new OptimizerState.Counts(Position.of(file.metadata()).updates, byParameter);
    }

    /// The progress of a training in a checkpoint.
    private record Position(int epoch, int updates, int samplerEpoch, OptionalDouble best) {
        static Position of(Map<String, String> metadata) {
            int epoch = Integer.parseInt(metadata.getOrDefault("epoch", "0"));
            String best = metadata.get("best");
            return new Position(
                    epoch,
                    Integer.parseInt(metadata.getOrDefault("updates", "0")),
                    Integer.parseInt(metadata.getOrDefault("sampler", String.valueOf(epoch))),
                    best == null
                            ? OptionalDouble.empty()
                            : OptionalDouble.of(Double.parseDouble(best)));
        }
    }

    /// Options of checkpoints. The optimizer is required.
    public static final class Builder {
        private final Path folder;
        private CommunicatorProvider communicators = CommunicatorProvider.FROM_HVD;
        private @Nullable Optimizer optimizer;
        private @Nullable ShardedSampler sampler;
        private @Nullable Epochs epochs;
        private @Nullable BestMetric best;
        private int kept = 3;
        private int every = 1;
        private Predicate<String> local = _ -> false;

        private Builder(Path folder) {
            this.folder = folder;
        }

        /// The optimizer that trains, distributed or not.
        public Builder optimizer(Optimizer value) {
            optimizer = value;
            return this;
        }

        /// The sampler of the training data, which then resumes at its epoch.
        public Builder sampler(ShardedSampler value) {
            sampler = value;
            return this;
        }

        /// The epochs of the learning rate, which then resume, even if an epoch has another number
        /// of steps now.
        public Builder epochs(Epochs value) {
            epochs = value;
            return this;
        }

        /// Parameters that each rank keeps for itself, as in `DistributedOptimizer`'s `local`. A
        /// checkpoint has those of rank 0, and only rank 0 restores them.
        public Builder local(Predicate<String> parameterName) {
            local = parameterName;
            return this;
        }

        /// How many of the newest checkpoints are kept; 3 by default.
        public Builder keep(int newest) {
            kept = atLeastOne("checkpoints to keep", newest);
            return this;
        }

        /// The number of epochs between checkpoints; 1 by default.
        public Builder every(int epochCount) {
            every = atLeastOne("epochs between checkpoints", epochCount);
            return this;
        }

        /// Keeps the model with the best metric in folder `best`, as `Model.save` writes it. Larger
        /// values are better if the name contains `acc`, else smaller ones.
        public Builder best(String metric) {
            return best(metric, BestMetric.Mode.AUTO);
        }

        /// Keeps the model with the best metric in folder `best`, as `Model.save` writes it.
        ///
        /// @param metric a name in `trainer.getTrainingResult().getEvaluations()`: `validate_loss`,
        ///     `validate_Accuracy`, `train_loss`, …; checked when the trainer is created
        public Builder best(String metric, BestMetric.Mode mode) {
            best = new BestMetric(metric, mode);
            return this;
        }

        /// The ranks that train together; all ranks of `Hvd` by default.
        public Builder communicator(Communicator value) {
            communicators = new CommunicatorProvider(value);
            return this;
        }

        public Checkpoints build() {
            if (optimizer == null) {
                throw new IllegalStateException(
                        "checkpoints include the state of the optimizer: call optimizer(…) before build()");
            }
            return new Checkpoints(this, optimizer);
        }

        private static int atLeastOne(String what, int value) {
            if (value < 1) {
                throw new IllegalArgumentException("%s: at least 1, not %d".formatted(what, value));
            }
            return value;
        }
    }
}
