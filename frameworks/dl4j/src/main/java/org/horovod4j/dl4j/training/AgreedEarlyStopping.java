package org.horovod4j.dl4j.training;

import org.deeplearning4j.earlystopping.EarlyStoppingConfiguration;
import org.deeplearning4j.earlystopping.EarlyStoppingModelSaver;
import org.deeplearning4j.earlystopping.EarlyStoppingResult;
import org.deeplearning4j.earlystopping.saver.InMemoryModelSaver;
import org.deeplearning4j.earlystopping.scorecalc.ScoreCalculator;
import org.deeplearning4j.earlystopping.termination.EpochTerminationCondition;
import org.deeplearning4j.earlystopping.termination.IterationTerminationCondition;
import org.deeplearning4j.earlystopping.trainer.IEarlyStoppingTrainer;
import org.deeplearning4j.nn.api.Model;
import org.horovod4j.Communicator;
import org.horovod4j.Hvd;
import org.horovod4j.ReduceOp;
import org.jspecify.annotations.Nullable;

import java.util.List;

/// Early stopping of DL4J that ends after the same batch or epoch on all ranks.
///
/// ```java
/// EarlyStoppingConfiguration<MultiLayerNetwork> all = AgreedEarlyStopping.of(configuration);
/// AgreedEarlyStopping.fit(new EarlyStoppingTrainer(all, network, HvdDl4j.shard(training)));
/// ```
///
/// The score is the average over the ranks, each with the same weight: let all have as many samples for the
/// score. A condition ends the training if it does on one rank, so
/// limits of time and invalid scores end it everywhere. Rank 0 saves networks as configured; the others
/// keep them in memory.
@SuppressWarnings(
        "serial") // parts of a configuration are Serializable, but nothing serializes these
public final class AgreedEarlyStopping {
    private AgreedEarlyStopping() {}

    /// The same configuration, with decisions of all ranks of `Hvd`. All ranks call this, with the same
    /// conditions in the same order.
    ///
    /// A condition of iterations costs a small allreduce in each of them.
    public static <T extends Model> EarlyStoppingConfiguration<T> of(
            EarlyStoppingConfiguration<T> own) {
        return of(Hvd.communicator(), own);
    }

    /// The same among the ranks of a communicator.
    public static <T extends Model> EarlyStoppingConfiguration<T> of(
            Communicator communicator, EarlyStoppingConfiguration<T> own) {
        EarlyStoppingModelSaver<T> saver =
                communicator.rank() == 0 ? own.getModelSaver() : new InMemoryModelSaver<>();
        EarlyStoppingConfiguration.Builder<T> builder =
                new EarlyStoppingConfiguration.Builder<T>()
                        .modelSaver(saver)
                        .saveLastModel(own.isSaveLastModel())
                        .evaluateEveryNEpochs(own.getEvaluateEveryNEpochs())
                        .epochTerminationConditions(
                                orNone(own.getEpochTerminationConditions()).stream()
                                        .map(each -> new AgreedEpochs(communicator, each))
                                        .toArray(EpochTerminationCondition[]::new))
                        .iterationTerminationConditions(
                                orNone(own.getIterationTerminationConditions()).stream()
                                        .map(each -> new AgreedIterations(communicator, each))
                                        .toArray(IterationTerminationCondition[]::new));
        ScoreCalculator<T> calculator = own.getScoreCalculator();
        if (calculator != null) {
            builder.scoreCalculator(new AverageScore<>(communicator, calculator));
        }
        return builder.build();
    }

    /// Trains, and throws if training fails. `trainer.fit()` would return the failure as a result, and the
    /// program would continue while the other ranks wait for it.
    ///
    /// @throws IllegalStateException with the message of the failure; its stack trace is in the log of DL4J
    public static <T extends Model> EarlyStoppingResult<T> fit(IEarlyStoppingTrainer<T> trainer) {
        EarlyStoppingResult<T> result = trainer.fit();
        if (result.getTerminationReason() == EarlyStoppingResult.TerminationReason.Error) {
            throw new IllegalStateException(
                    "training with early stopping failed after %d epochs: %s"
                            .formatted(result.getTotalEpochs(), result.getTerminationDetails()));
        }
        return result;
    }

    private static <C> List<C> orNone(@Nullable List<C> conditions) {
        return conditions == null ? List.of() : conditions;
    }

    private static boolean anyRank(Communicator communicator, String name, boolean ends) {
        int[] answer = {ends ? 1 : 0};
        communicator.allreduce(name, answer, ReduceOp.MAX);
        return answer[0] == 1;
    }

    private static final class AverageScore<T extends Model> implements ScoreCalculator<T> {
        private final transient Communicator communicator;
        private final ScoreCalculator<T> own;

        AverageScore(Communicator communicator, ScoreCalculator<T> own) {
            this.communicator = communicator;
            this.own = own;
        }

        @Override
        public double calculateScore(T network) {
            double[] score = {own.calculateScore(network)};
            communicator.allreduce("early stopping score", score, ReduceOp.AVERAGE);
            return score[0];
        }

        @Override
        public boolean minimizeScore() {
            return own.minimizeScore();
        }
    }

    private static final class AgreedEpochs implements EpochTerminationCondition {
        private final transient Communicator communicator;
        private final EpochTerminationCondition own;

        AgreedEpochs(Communicator communicator, EpochTerminationCondition own) {
            this.communicator = communicator;
            this.own = own;
        }

        @Override
        public void initialize() {
            own.initialize();
        }

        @Override
        public boolean terminate(int epoch, double score, boolean minimize) {
            return anyRank(
                    communicator,
                    "early stopping after an epoch",
                    own.terminate(epoch, score, minimize));
        }

        @Override
        public String toString() {
            return own.toString();
        }
    }

    private static final class AgreedIterations implements IterationTerminationCondition {
        private final transient Communicator communicator;
        private final IterationTerminationCondition own;

        AgreedIterations(Communicator communicator, IterationTerminationCondition own) {
            this.communicator = communicator;
            this.own = own;
        }

        @Override
        public void initialize() {
            own.initialize();
        }

        @Override
        public boolean terminate(double lastScore) {
            return anyRank(communicator, "early stopping after a batch", own.terminate(lastScore));
        }

        @Override
        public String toString() {
            return own.toString();
        }
    }
}
