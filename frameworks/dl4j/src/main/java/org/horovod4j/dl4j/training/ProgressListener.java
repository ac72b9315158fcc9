package org.horovod4j.dl4j.training;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.horovod4j.training.TrainingProgress;
import org.horovod4j.training.TrainingProgress.Metric;

import java.util.List;
import java.util.OptionalDouble;
import java.util.OptionalLong;

/// Prints the progress of a DL4J training with its score: a [TrainingProgress] as a listener of DL4J.
///
/// ```java
/// TrainingProgress progress = TrainingProgress.ofEpochs(10).build();
/// network.addListeners(new ScoreAverage(), new ProgressListener(progress));
/// network.fit(iterator, 10);
/// progress.trainingDone(); // DL4J has no event for the end
/// ```
///
/// All ranks add it. Within an epoch the score is that of rank 0. At the end of an epoch it is that of
/// all ranks if there is a [ScoreAverage] before it. With truncated backpropagation through time each
/// part of a sequence counts as a batch.
public final class ProgressListener extends BaseTrainingListener {
    private final TrainingProgress progress;

    public ProgressListener(TrainingProgress progress) {
        this.progress = progress;
    }

    @Override
    public void iterationDone(Model model, int iteration, int epoch) {
        progress.batchDone(model.batchSize(), OptionalLong.empty(), () -> metrics(model));
    }

    @Override
    public void onEpochEnd(Model model) {
        progress.epochDone(() -> metrics(model), OptionalDouble::empty);
    }

    private static List<Metric> metrics(Model model) {
        return List.of(new Metric("score", model.score()));
    }
}
