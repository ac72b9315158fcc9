package org.horovod4j.tensorflow.training;

import org.horovod4j.training.TrainingProgress;
import org.horovod4j.training.TrainingProgress.Metric;
import org.tensorflow.Operand;

import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/// Prints the progress of the whole job: a [TrainingProgress] as a hook.
///
/// ```java
/// TrainingProgress progress = TrainingProgress.ofEpochs(10).stepsPerEpoch(steps).build();
/// builder.hook(new ProgressHook(progress, steps, batchSize).metric("loss", loss));
/// ```
///
/// Within an epoch the metrics are those of rank 0; at its end they are averages over all ranks.
public final class ProgressHook implements TrainingHook {
    private final TrainingProgress progress;
    private final int stepsPerEpoch;
    private final int batchSize;
    private final MetricAverages averages = new MetricAverages();

    /// @param stepsPerEpoch the batches of one rank in an epoch
    /// @param batchSize samples of one batch on one rank
    public ProgressHook(TrainingProgress progress, int stepsPerEpoch, int batchSize) {
        if (stepsPerEpoch < 1) {
            throw new IllegalArgumentException(
                    "steps in an epoch: at least 1, not " + stepsPerEpoch);
        }
        this.progress = progress;
        this.stepsPerEpoch = stepsPerEpoch;
        this.batchSize = batchSize;
    }

    /// Adds a scalar of the graph: the mean over a batch.
    public ProgressHook metric(String name, Operand<?> scalar) {
        averages.add(name, scalar);
        return this;
    }

    @Override
    public void atStart(TrainingSession session) {
        progress.resumeAt(session.step() / stepsPerEpoch);
    }

    @Override
    public List<Operand<?>> fetches() {
        return averages.outputs();
    }

    @Override
    public void afterStep(TrainingStep step) {
        averages.addBatch(1, step::scalar);
        progress.batchDone(batchSize, OptionalLong.empty(), () -> metrics(averages.ofThisRank()));
        if (step.number() % stepsPerEpoch == 0) {
            Map<String, Double> ofAll = averages.overRanks(step.session().communicator());
            progress.epochDone(() -> metrics(ofAll), step.session()::learningRate);
        }
    }

    private static List<Metric> metrics(Map<String, Double> values) {
        return values.entrySet().stream()
                .map(entry -> new Metric(entry.getKey(), entry.getValue()))
                .toList();
    }

    @Override
    public void atEnd(TrainingSession session) {
        progress.trainingDone();
    }
}
