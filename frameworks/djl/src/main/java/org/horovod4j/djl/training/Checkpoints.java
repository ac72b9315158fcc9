package org.horovod4j.djl.training;

import ai.djl.Model;
import ai.djl.ndarray.NDArray;
import ai.djl.training.Trainer;
import ai.djl.training.listener.TrainingListenerAdapter;
import ai.djl.training.optimizer.Optimizer;

import org.horovod4j.Communicator;
import org.horovod4j.HorovodException;
import org.horovod4j.djl.ArraySpec;
import org.horovod4j.djl.CommunicatorProvider;
import org.horovod4j.djl.OptimizerState;
import org.horovod4j.djl.Parameters;
import org.horovod4j.djl.ShardedSampler;
import org.horovod4j.djl.TensorView;
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

/// Saves everything that training needs to go on, after every epoch, and resumes from it on any
/// number of ranks.
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
/// Rank 0 alone writes and reads files, whole or not at all; all ranks wait until it has, and if it
/// could not, all of them throw. In a checkpoint are the parameters, frozen ones and running
/// statistics included, the optimizer's state, the numbers of epochs and updates, and the epoch of
/// the sampler. Settings such as momentum or batch size are the program's, and may be changed
/// before it resumes.
public final class Checkpoints extends TrainingListenerAdapter {
    private static final String PARAMETER = "parameter/";
    private static final String OPTIMIZER = "optimizer/";
    private static final String COUNT = "count/";

    private final CommunicatorProvider communicators;
    private final CheckpointFolder folder;
    private final Optimizer optimizer;
    private final Optional<ShardedSampler> sampler;
    private final Optional<Epochs> epochs;
    private final Optional<BestModel> best;
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

    /// Checkpoints in this folder of rank 0, which is made when it is missing.
    public static Builder in(Path folder) {
        return new Builder(folder);
    }

    @Override
    public void onTrainingBegin(Trainer trainer) {
        if (best.isPresent()) {
            ListenerOrder.requireAfterEvaluators(trainer, this);
            best.get().check(trainer);
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
    /// @throws CheckpointException on all ranks, when rank 0 could not
    public void save(Trainer trainer) {
        @Nullable Exception failure = null;
        if (communicators.current().rank() == 0) {
            try {
                write(trainer);
            } catch (IOException | RuntimeException e) {
                failure = e;
            }
        }
        broadcastOutcome(
                "save the checkpoint of epoch " + epoch,
                new Outcome(describe(failure), null),
                failure);
    }

    private void write(Trainer trainer) throws IOException {
        Model model = trainer.getModel();
        if (best.isPresent()
                && best.get().updateIfBetter(trainer.getTrainingResult().getEvaluations())) {
            BestModel.save(model, folder.folder().resolve("best"));
        }
        OptimizerState state = OptimizerState.of(optimizer, model.getBlock());
        Map<String, NDArray> arrays = new LinkedHashMap<>();
        Parameters.arrays(model.getBlock())
                .forEach((name, array) -> arrays.put(PARAMETER + name, array));
        state.arrays().forEach((name, array) -> arrays.put(OPTIMIZER + name, array));
        folder.write(epoch, file -> CheckpointFile.write(file, metadata(state.counts()), arrays));
    }

    private Map<String, String> metadata(OptimizerState.Counts counts) {
        Map<String, String> facts = new LinkedHashMap<>();
        facts.put("epoch", String.valueOf(epoch));
        facts.put("updates", String.valueOf(counts.updates()));
        facts.put("ranks", String.valueOf(communicators.current().size()));
        sampler.ifPresent(used -> facts.put("sampler", String.valueOf(used.epoch())));
        best.ifPresent(
                model -> model.best().ifPresent(value -> facts.put("best", String.valueOf(value))));
        counts.byParameter()
                .forEach((name, count) -> facts.put(COUNT + name, String.valueOf(count)));
        return facts;
    }

    /// Goes back to the newest checkpoint, if there is one: restores it on rank 0 and brings it to
    /// all ranks. All ranks call this, after `trainer.initialize`; `broadcastParameters` is then
    /// not needed, for without a checkpoint this brings rank 0's parameters to all ranks too.
    ///
    /// @return how many epochs are complete
    /// @throws CheckpointException on all ranks, when rank 0 cannot write into the folder, or there
    ///     are checkpoints and none can be used, or the newest is of another network or optimizer
    public int resume(Trainer trainer) {
        Model model = trainer.getModel();
        @Nullable Exception failure = null;
        @Nullable Position found = null;
        if (communicators.current().rank() == 0) {
            try (Arena arena = Arena.ofConfined()) {
                found = restore(model, arena);
            } catch (IOException | RuntimeException e) {
                failure = e;
            }
        }
        Outcome outcome =
                broadcastOutcome("resume training", new Outcome(describe(failure), found), failure);
        Communicator communicator = communicators.current();
        Parameters.broadcast(communicator, model.getBlock(), 0, shared);
        OptimizerState.of(optimizer, model.getBlock(), shared).broadcast(communicator, 0);
        Position position = outcome.position;
        if (position != null) {
            epoch = position.epoch;
            sampler.ifPresent(used -> used.setEpoch(position.samplerEpoch));
            epochs.ifPresent(used -> used.resumeAt(position.epoch, position.updates));
            best.ifPresent(
                    used ->
                            used.setBest(
                                    position.best.isPresent()
                                            ? OptionalDouble.of(position.best.get())
                                            : OptionalDouble.empty()));
        }
        return epoch;
    }

    private @Nullable Position restore(Model model, Arena arena) throws IOException {
        folder.prepare();
        Optional<CheckpointFolder.LoadedCheckpoint> newest = folder.loadNewest(arena);
        if (newest.isEmpty()) {
            return null;
        }
        Path path = newest.get().path();
        CheckpointFile file = newest.get().file();
        Map<String, NDArray> parameters = Parameters.arrays(model.getBlock());
        OptimizerState state = OptimizerState.of(optimizer, model.getBlock());
        List<ArraySpec> forms = specsWithPrefix(file, OPTIMIZER);
        List<String> complaints =
                new ArrayList<>(
                        ArraySpec.differences(
                                specsWithPrefix(file, PARAMETER), ArraySpec.ofAll(parameters)));
        complaints.addAll(state.mismatches(forms));
        if (!complaints.isEmpty()) {
            throw new IllegalStateException(
                    """
                    %s is a checkpoint of another network or optimizer: this one %s. Use another folder for \
                    it."""
                            .formatted(path, String.join("; ", complaints)));
        }
        fill(file, PARAMETER, parameters);
        fill(file, OPTIMIZER, state.reallocate(counts(file), forms));
        return Position.of(file.metadata());
    }

    private static List<ArraySpec> specsWithPrefix(CheckpointFile file, String prefix) {
        return file.specs().stream()
                .filter(form -> form.name().startsWith(prefix))
                .map(
                        form ->
                                new ArraySpec(
                                        form.name().substring(prefix.length()),
                                        form.type(),
                                        form.shape()))
                .toList();
    }

    private static void fill(CheckpointFile file, String prefix, Map<String, NDArray> arrays) {
        arrays.forEach(
                (name, array) -> {
                    CheckpointFile.StoredArray storedArray = file.arrays().get(prefix + name);
                    if (storedArray != null) {
                        TensorView loan = TensorView.of(array);
                        loan.tensor().segment().copyFrom(storedArray.bytes());
                        loan.writeBack();
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

    /// Lets all ranks know how rank 0 fared.
    private Outcome broadcastOutcome(String action, Outcome mine, @Nullable Exception cause) {
        Outcome outcome = communicators.current().broadcastObject("checkpoint", mine, 0);
        if (outcome.failure.isPresent()) {
            throw new CheckpointException(
                    "rank 0 could not %s: %s".formatted(action, outcome.failure.get()), cause);
        }
        return outcome;
    }

    private Optional<String> describe(@Nullable Exception failure) {
        return Optional.ofNullable(failure)
                .map(
                        e ->
                                switch (e) {
                                    case IOException ofFile -> folder.describe(ofFile);
                                    case HorovodException ours -> String.valueOf(ours.getMessage());
                                    case IllegalStateException ours ->
                                            String.valueOf(ours.getMessage());
                                    default -> e.toString();
                                });
    }

    private record Outcome(Optional<String> failure, @Nullable Position position) {}

    /// How far training had come.
    private record Position(int epoch, int updates, int samplerEpoch, Optional<Double> best) {
        static Position of(Map<String, String> facts) {
            int epoch = Integer.parseInt(facts.getOrDefault("epoch", "0"));
            return new Position(
                    epoch,
                    Integer.parseInt(facts.getOrDefault("updates", "0")),
                    Integer.parseInt(facts.getOrDefault("sampler", String.valueOf(epoch))),
                    Optional.ofNullable(facts.get("best")).map(Double::valueOf));
        }
    }

    /// What checkpoints may be told. The optimizer must be.
    public static final class Builder {
        private final Path folder;
        private CommunicatorProvider communicators = CommunicatorProvider.FROM_HVD;
        private @Nullable Optimizer optimizer;
        private @Nullable ShardedSampler sampler;
        private @Nullable Epochs epochs;
        private @Nullable BestModel best;
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

        /// What learning rates go by, which then counts on, even if an epoch has another number of
        /// steps now.
        public Builder epochs(Epochs value) {
            epochs = value;
            return this;
        }

        /// Parameters that each rank keeps for itself, as in `DistributedOptimizer`'s `local`.
        /// Checkpoints have those of rank 0, and rank 0 alone gets them back.
        public Builder local(Predicate<String> parameterName) {
            local = parameterName;
            return this;
        }

        /// Keeps so many of the newest checkpoints; 3 by default.
        public Builder keep(int newest) {
            kept = atLeastOne("checkpoints to keep", newest);
            return this;
        }

        /// Saves after every so many epochs; 1 by default.
        public Builder every(int epochCount) {
            every = atLeastOne("epochs between checkpoints", epochCount);
            return this;
        }

        /// Keeps the model with the best figure in folder `best`, as `Model.save` does, for
        /// inference. See [#best(String, Better)].
        public Builder best(String monitor) {
            return best(monitor, MonitorMode.AUTO);
        }

        /// Keeps the model with the best figure in folder `best`, as `Model.save` does, for
        /// inference.
        ///
        /// @param monitor a name in `trainer.getTrainingResult().getEvaluations()`:
        ///     `validate_loss`, `validate_Accuracy`, `train_loss`, …; one that the trainer's
        ///     evaluators do not give is refused when the trainer is made
        public Builder best(String monitor, MonitorMode monitorMode) {
            best = new BestModel(monitor, monitorMode);
            return this;
        }

        /// The ranks that train together; all those of `Hvd` by default.
        public Builder communicator(Communicator value) {
            communicators = new CommunicatorProvider(value);
            return this;
        }

        public Checkpoints build() {
            if (optimizer == null) {
                throw new IllegalStateException(
                        "checkpoints need the optimizer, whose state is part of them: call optimizer(…)");
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
