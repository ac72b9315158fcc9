package org.horovod4j.spark.ml;

import org.jspecify.annotations.Nullable;

import java.nio.file.Path;
import java.util.Map;

/// A training on one rank, step by step. All ranks call the same methods in the same order.
public interface RankTraining extends AutoCloseable {
    /// Restores the newest checkpoint of rank 0, if there is one, and gives all ranks the state of
    /// rank 0.
    ///
    /// @return the number of complete epochs
    int resume() throws Exception;

    /// One step: computes gradients, averages them over the ranks, and updates the parameters.
    ///
    /// @return the mean loss over the rows of this rank, without weights; 0 if it has none
    double train(TrainingRows rows, StepWeights weights) throws Exception;

    /// Computes the loss and metrics of some rows, and changes no parameters. Ranks may call this
    /// different numbers of times.
    ///
    /// @return the mean loss over the rows
    double validate(TrainingRows rows) throws Exception;

    /// The metrics other than the loss since the last call, over the rows of all ranks, by name.
    Map<String, Double> metrics(Part part);

    /// Writes a checkpoint to the folder of rank 0.
    void saveCheckpoint() throws Exception;

    /// Writes the files of the network, for [NetworkFramework#load] and for programs that have the
    /// framework alone. Only rank 0 calls this.
    void saveNetwork(Path folder) throws Exception;

    @Override
    void close();

    /// The two parts of the data.
    enum Part {
        TRAINING,
        VALIDATION
    }

    /// Rows as numbers.
    ///
    /// @param rows may be 0 in the last step of an epoch
    /// @param features one row after another
    /// @param labels one row after another
    @SuppressWarnings("ArrayRecordComponent") // never compared
    record TrainingRows(int rows, float[] features, float[] labels) {
        /// No rows.
        public static final TrainingRows EMPTY = new TrainingRows(0, new float[0], new float[0]);
    }

    /// How much the rows of a step count, so that the average over the ranks is the weighted mean over
    /// the rows of all ranks.
    ///
    /// @param scale the gradient of this rank is that of `scale` times the mean, over its rows, of
    ///     weight times loss; 1 if all ranks have the same number of rows without weights
    /// @param ofRows the weight of each row; null if all are 1
    @SuppressWarnings("ArrayRecordComponent") // never compared
    record StepWeights(double scale, float @Nullable [] ofRows) {}
}
