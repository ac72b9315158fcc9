package org.horovod4j.djl.training;

import ai.djl.training.Trainer;
import ai.djl.training.listener.EvaluatorTrainingListener;
import ai.djl.training.listener.TrainingListenerAdapter;

import org.horovod4j.Communicator;
import org.horovod4j.ReduceOp;
import org.horovod4j.djl.CommunicatorProvider;

import java.util.List;

/// At the end of an epoch, makes loss and evaluators those of all ranks together: what later
/// listeners, `trainer.getMetrics()` and `trainer.getTrainingResult()` show then is the same on
/// every rank.
///
/// It adds up the totals from which DJL computes them, so that a rank with more samples counts for
/// more: an accuracy is that of all samples of all ranks. DJL's losses count batches, each as much
/// as any other, and so do they here. Ranks that have not validated at all take part with nothing.
///
/// It comes *before* DJL's `EvaluatorTrainingListener`, which reads the figures when the epoch ends
/// and resets them; so add it before `TrainingListener.Defaults`. It says so itself otherwise.
/// Figures within an epoch stay those of the rank.
public final class MetricAverage extends TrainingListenerAdapter {
    private static final List<String> ACCUMULATORS =
            List.of(
                    EvaluatorTrainingListener.TRAIN_EPOCH,
                    EvaluatorTrainingListener.VALIDATE_EPOCH);

    private final CommunicatorProvider communicators;

    /// Over all ranks that there are when an epoch ends.
    public MetricAverage() {
        this(CommunicatorProvider.FROM_HVD);
    }

    public MetricAverage(Communicator communicator) {
        this(new CommunicatorProvider(communicator));
    }

    private MetricAverage(CommunicatorProvider communicatorProvider) {
        this.communicators = communicatorProvider;
    }

    @Override
    public void onTrainingBegin(Trainer trainer) {
        ListenerOrder.requireBeforeEvaluators(trainer, this);
        EvaluatorTotals _ = EvaluatorTotals.of(trainer.getEvaluators());
    }

    @Override
    public void onEpoch(Trainer trainer) {
        EvaluatorTotals evaluatorTotals = EvaluatorTotals.of(trainer.getEvaluators());
        double[] values = evaluatorTotals.read(ACCUMULATORS);
        communicators.current().allreduce("metrics", values, ReduceOp.SUM);
        evaluatorTotals.write(ACCUMULATORS, values);
    }
}
