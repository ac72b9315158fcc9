package org.horovod4j.dl4j.training;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.deeplearning4j.util.ModelSerializer;
import org.horovod4j.Communicator;
import org.horovod4j.checkpoint.BestMetric;
import org.horovod4j.checkpoint.CheckpointFolder;
import org.horovod4j.dl4j.ReplicatedState;
import org.horovod4j.dl4j.ReplicatedState.Counts;
import org.horovod4j.training.CommunicatorProvider;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalDouble;
import java.util.function.ToDoubleFunction;

/// Writes a checkpoint after each epoch on rank 0, and resumes from the newest one, on any number of
/// ranks.
///
/// ```java
/// Checkpoints checkpoints = new Checkpoints(Path.of("checkpoints")).keep(3);
/// int done = checkpoints.resume(network); // in place of broadcastParameters
/// network.addListeners(new ScoreAverage(), checkpoints);
/// if (done < epochs) {
///     network.fit(iterator.startAt(done), epochs - done); // a SampledDataSetIterator
/// }
/// ```
///
/// A checkpoint has the parameters, the state of the updater, and the counts of iterations and epochs.
/// All ranks resume and add the listener. Early stopping of DL4J counts epochs from 0 in each run, so it
/// does not resume.
public final class Checkpoints extends BaseTrainingListener {
    private static final String EPOCH = "epoch";
    private static final String ITERATION = "iteration";
    private static final String BEST = "best";
    private static final String METRIC = "score";

    private final Path folder;
    private final CommunicatorProvider communicators;
    private CheckpointFolder checkpointFolder;
    private @Nullable BestModel bestModel;

    /// @param file where the best network is saved
    /// @param score computes the metric of an epoch, the same on all ranks
    private record BestModel(Path file, BestMetric metric, ToDoubleFunction<Model> score) {}

    public Checkpoints(Path folder) {
        this(folder, CommunicatorProvider.FROM_HVD);
    }

    public Checkpoints(Path folder, Communicator communicator) {
        this(folder, new CommunicatorProvider(communicator));
    }

    private Checkpoints(Path folder, CommunicatorProvider communicatorProvider) {
        this.folder = folder;
        this.communicators = communicatorProvider;
        this.checkpointFolder = new CheckpointFolder(folder, 1);
    }

    /// How many of the newest checkpoints are kept; 1 by default.
    public Checkpoints keep(int count) {
        checkpointFolder = new CheckpointFolder(folder, count);
        return this;
    }

    /// Saves the network of the best epoch so far, as `network.save` does, for programs with DL4J alone.
    ///
    /// @param file replaced after each epoch that is better than all before
    /// @param mode whether larger or smaller scores are better
    /// @param score of an epoch. All ranks call it, so it may evaluate with their part of the data:
    ///     `model -> HvdDl4j.evaluate(network, validation).accuracy()`. `Model::score` with a
    ///     [ScoreAverage] before this listener is the training score.
    public Checkpoints saveBest(Path file, BestMetric.Mode mode, ToDoubleFunction<Model> score) {
        bestModel = new BestModel(file, new BestMetric(METRIC, mode), score);
        return this;
    }

    /// Restores the newest checkpoint on rank 0, if there is one, and sends the network of rank 0 to all
    /// ranks.
    ///
    /// @return the number of complete epochs
    /// @throws org.horovod4j.checkpoint.CheckpointException on all ranks, when rank 0 cannot use the
    ///     folder, or the checkpoint is of another network
    public int resume(Model model) {
        ReplicatedState network = ReplicatedState.of(model);
        Communicator communicator = communicators.current();
        Map<String, String> metadata = checkpointFolder.resume(communicator, network.tensors());
        Counts ofRoot = communicator.broadcastObject("network counts", network.counts(), 0);
        Counts counts =
                new Counts(
                        number(metadata, ITERATION, ofRoot.iterations()),
                        number(metadata, EPOCH, ofRoot.epochs()));
        network.setCounts(counts);
        BestModel best = bestModel;
        if (best != null && metadata.containsKey(BEST)) {
            best.metric.setBest(OptionalDouble.of(Double.parseDouble(metadata.get(BEST))));
        }
        return counts.epochs();
    }

    private static int number(Map<String, String> metadata, String name, int other) {
        return Integer.parseInt(metadata.getOrDefault(name, String.valueOf(other)));
    }

    @Override
    public void onEpochEnd(Model model) {
        ReplicatedState network = ReplicatedState.of(model);
        Communicator communicator = communicators.current();
        int epoch = network.counts().epochs() + 1; // DL4J counts it after this event
        saveIfBest(communicator, model, new Counts(network.counts().iterations(), epoch));
        Map<String, String> metadata = new HashMap<>();
        metadata.put(EPOCH, String.valueOf(epoch));
        metadata.put(ITERATION, String.valueOf(network.counts().iterations()));
        if (bestModel != null) {
            bestModel.metric.best().ifPresent(best -> metadata.put(BEST, String.valueOf(best)));
        }
        checkpointFolder.save(communicator, epoch, metadata, network.tensors());
    }

    private void saveIfBest(Communicator communicator, Model model, Counts counts) {
        BestModel best = bestModel;
        if (best == null) {
            return;
        }
        double score =
                communicator.broadcastObject("best score", best.score.applyAsDouble(model), 0);
        if (best.metric.updateIfBetter(Map.of(METRIC, score))) {
            Map<String, String> _ =
                    checkpointFolder.onRankZero(
                            communicator,
                            "save the best network",
                            () -> {
                                replace(best.file, model, counts);
                                return Map.of();
                            });
        }
    }

    /// A reader finds the previous network or this one.
    ///
    /// @param counts those of the network after this event
    private static void replace(Path file, Model model, Counts counts) throws IOException {
        Path target = file.toAbsolutePath();
        Path parent = Objects.requireNonNull(target.getParent(), "a file has a folder");
        Files.createDirectories(parent);
        // not a temporary file, which others could not read
        Path partial = parent.resolve(".%s.partial".formatted(target.getFileName()));
        ReplicatedState network = ReplicatedState.of(model);
        Counts before = network.counts();
        try {
            network.setCounts(counts);
            ModelSerializer.writeModel(model, partial.toFile(), true);
            Files.move(partial, target, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            network.setCounts(before);
            Files.deleteIfExists(partial);
        }
    }
}
