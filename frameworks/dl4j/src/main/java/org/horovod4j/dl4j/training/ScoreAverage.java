package org.horovod4j.dl4j.training;

import org.deeplearning4j.nn.api.Model;
import org.deeplearning4j.nn.graph.ComputationGraph;
import org.deeplearning4j.nn.multilayer.MultiLayerNetwork;
import org.deeplearning4j.optimize.api.BaseTrainingListener;
import org.horovod4j.Communicator;
import org.horovod4j.training.CommunicatorProvider;
import org.horovod4j.training.MetricTotals;

/// At the end of an epoch, replaces the score of the network by the average over all samples of all
/// ranks in this epoch. Later listeners and `network.score()` then have the same value on every rank.
///
/// Add it before the listeners that read the score. Scores within an epoch stay those of the rank.
/// [org.horovod4j.dl4j.HvdDl4j#evaluate] has accuracy and other metrics of all ranks.
public final class ScoreAverage extends BaseTrainingListener {
    private static final String SCORE = "score";
    private static final String SAMPLES = "samples";

    private final CommunicatorProvider communicators;
    private MetricTotals totals = new MetricTotals();

    /// Averages over all ranks that `Hvd` has when an epoch ends.
    public ScoreAverage() {
        this(CommunicatorProvider.FROM_HVD);
    }

    public ScoreAverage(Communicator communicator) {
        this(new CommunicatorProvider(communicator));
    }

    private ScoreAverage(CommunicatorProvider communicatorProvider) {
        this.communicators = communicatorProvider;
    }

    /// An epoch that failed leaves no totals.
    @Override
    public void onEpochStart(Model model) {
        totals = new MetricTotals();
    }

    @Override
    public void iterationDone(Model model, int iteration, int epoch) {
        totals.add(SCORE, model.score() * model.batchSize());
        totals.add(SAMPLES, model.batchSize());
    }

    @Override
    public void onEpochEnd(Model model) {
        totals.add(SCORE, 0); // a rank without batches has the same names
        totals.add(SAMPLES, 0);
        totals.sumOverRanks(communicators.current());
        if (totals.get(SAMPLES) > 0) {
            setScore(model, totals.ratio(SCORE, SAMPLES));
        }
    }

    private static void setScore(Model model, double score) {
        switch (model) {
            case MultiLayerNetwork network -> network.setScore(score);
            case ComputationGraph graph -> graph.setScore(score);
            default ->
                    throw new IllegalArgumentException(
                            "a ScoreAverage is a listener of a MultiLayerNetwork or a ComputationGraph, not of a "
                                    + model.getClass().getName());
        }
    }
}
