package org.horovod4j.djl.training;

import ai.djl.training.Trainer;
import ai.djl.training.evaluator.Evaluator;
import ai.djl.training.listener.EvaluatorTrainingListener;
import ai.djl.training.listener.TrainingListenerAdapter;
import ai.djl.training.optimizer.Optimizer;
import ai.djl.training.tracker.Tracker;

import org.horovod4j.djl.OptimizerState;
import org.horovod4j.training.TrainingProgress;
import org.horovod4j.training.TrainingProgress.Metric;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.OptionalLong;

/// Prints the progress of a DJL training with loss and evaluators: a [TrainingProgress] as a listener
/// of DJL.
///
/// ```java
/// new ProgressListener(TrainingProgress.ofEpochs(10).build()).learningRate(optimizer, rate)
/// ```
///
/// All ranks add it, after `TrainingListener.Defaults`. Within an epoch the metrics are those of
/// rank 0. At the end of an epoch they are those of all ranks if there is a [MetricAverage].
public final class ProgressListener extends TrainingListenerAdapter {
    private final TrainingProgress progress;
    private @Nullable LearningRateSource learningRateSource;
    private boolean hasMetrics;

    public ProgressListener(TrainingProgress progress) {
        this.progress = progress;
    }

    /// Prints the learning rate of the last update at the end of each epoch.
    ///
    /// @param optimizer the optimizer that trains, distributed or not
    /// @param rate the learning rate that the optimizer was built with
    public ProgressListener learningRate(Optimizer optimizer, Tracker rate) {
        learningRateSource = new LearningRateSource(optimizer, rate);
        return this;
    }

    @Override
    public void onTrainingBegin(Trainer trainer) {
        hasMetrics = ListenerOrder.hasEvaluators(trainer);
    }

    @Override
    public void onTrainingBatch(Trainer trainer, BatchData batchData) {
        progress.batchDone(
                batchData.getBatch().getSize(),
                OptionalLong.of(batchData.getBatch().getProgressTotal()),
                () -> metrics(trainer));
    }

    private List<Metric> metrics(Trainer trainer) {
        List<Metric> metrics = new ArrayList<>();
        if (hasMetrics) {
            for (Evaluator evaluator : lossFirst(trainer)) {
                add(
                        metrics,
                        name(trainer, evaluator),
                        evaluator.getAccumulator(EvaluatorTrainingListener.TRAIN_EPOCH));
            }
        }
        return metrics;
    }

    @Override
    public void onEpoch(Trainer trainer) {
        progress.epochDone(() -> epochMetrics(trainer), () -> learningRate(trainer));
    }

    private List<Metric> epochMetrics(Trainer trainer) {
        List<Metric> metrics = new ArrayList<>();
        if (hasMetrics) {
            Map<String, Float> values = trainer.getTrainingResult().getEvaluations();
            for (String stage : List.of("train_", "validate_")) {
                for (Evaluator evaluator : lossFirst(trainer)) {
                    String name = name(trainer, evaluator);
                    add(
                            metrics,
                            stage.equals("train_") ? name : "validation " + name,
                            values.get(stage + evaluator.getName()));
                }
            }
        }
        return metrics;
    }

    private OptionalDouble learningRate(Trainer trainer) {
        LearningRateSource source = learningRateSource;
        if (source == null) {
            return OptionalDouble.empty();
        }
        int updates = OptimizerState.of(source.optimizer, trainer.getModel().getBlock()).updates();
        return updates == 0
                ? OptionalDouble.empty()
                : OptionalDouble.of(source.rate.getNewValue(updates));
    }

    /// DJL has the loss at the end of the list.
    private static List<Evaluator> lossFirst(Trainer trainer) {
        return trainer.getEvaluators().reversed();
    }

    private static String name(Trainer trainer, Evaluator evaluator) {
        return evaluator.equals(trainer.getLoss()) ? "loss" : evaluator.getName();
    }

    private static void add(List<Metric> metrics, String name, @Nullable Float value) {
        if (value != null && !value.isNaN()) {
            metrics.add(new Metric(name, value));
        }
    }

    /// Prints the summary. DJL calls this after failures too.
    @Override
    public void onTrainingEnd(Trainer trainer) {
        progress.trainingDone();
    }

    /// An optimizer and its learning rate, for which DJL has no accessor.
    private record LearningRateSource(Optimizer optimizer, Tracker rate) {}
}
