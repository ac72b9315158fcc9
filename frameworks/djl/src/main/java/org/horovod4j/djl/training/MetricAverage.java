package org.horovod4j.djl.training;

import ai.djl.training.Trainer;
import ai.djl.training.listener.EvaluatorTrainingListener;
import ai.djl.training.listener.TrainingListenerAdapter;

import org.horovod4j.Communicator;
import org.horovod4j.training.CommunicatorProvider;
import org.horovod4j.training.MetricTotals;

import java.util.List;

/// At the end of an epoch, replaces loss and evaluators of this rank by those of all ranks
/// together. Later listeners, `trainer.getMetrics()` and `trainer.getTrainingResult()` then have
/// the same values on every rank.
///
/// It adds up the totals from which DJL computes them ([MetricTotals]), so that each sample has the
/// same weight: an accuracy is that of all samples of all ranks. DJL's losses give each batch the
/// same weight, and so does this. Ranks that have not validated take part with zeros.
///
/// Add it *before* DJL's `EvaluatorTrainingListener`, which reads the totals at the end of the
/// epoch and resets them; so add it before `TrainingListener.Defaults`. Otherwise it throws when
/// training begins. Values within an epoch stay those of the rank.
public final class MetricAverage extends TrainingListenerAdapter {
    private static final List<String> ACCUMULATORS =
            List.of(
                    EvaluatorTrainingListener.TRAIN_EPOCH,
                    EvaluatorTrainingListener.VALIDATE_EPOCH);

    private final CommunicatorProvider communicators;

    /// Averages over all ranks that `Hvd` has when an epoch ends.
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
        MetricTotals totals = evaluatorTotals.read(ACCUMULATORS);
        totals.sumOverRanks(communicators.current());
        evaluatorTotals.write(ACCUMULATORS, totals);
    }
}
