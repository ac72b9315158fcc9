package org.horovod4j.spark.ml;

import org.horovod4j.Communicator;

import java.nio.file.Path;

/// What a rank needs to start a training.
///
/// @param featureWidth the number of features of a row
/// @param labelWidth the number of labels of a row
/// @param batchSize the rows of one step on one rank
/// @param stepsPerEpoch the same on all ranks
/// @param seed of the first parameters
/// @param checkpoints the folder of checkpoints, of which only rank 0 uses its own
public record TrainingSetup(
        Communicator communicator,
        int featureWidth,
        int labelWidth,
        int batchSize,
        int stepsPerEpoch,
        int epochs,
        long seed,
        Path checkpoints) {}
