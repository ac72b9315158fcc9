package org.horovod4j.spark.ml;

import java.io.Serializable;
import java.nio.file.Path;

/// A network, and the framework that trains it: what an [HvdEstimator] needs of DJL, TensorFlow or
/// Deeplearning4j. Spark serializes it.
public interface NetworkFramework extends Serializable {
    /// Starts a training on this rank. All ranks call this.
    RankTraining start(TrainingSetup setup) throws Exception;

    /// Loads a network that [RankTraining#saveNetwork] has saved, for inference. Needs no ranks.
    ///
    /// @param folder with the files
    NetworkPredictor load(Path folder) throws Exception;
}
