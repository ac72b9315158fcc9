/// Networks that Keras has written, for training with DL4J.
///
/// Start with [KerasModels]. [KerasFile] reads the formats, [KerasConfig] translates the descriptions of
/// networks, [KerasOptimizers] those of optimizers.
///
/// - May depend on: `org.horovod4j`, `org.deeplearning4j..`, `org.nd4j..`.
/// - Invariant: a setting of the file is taken over or rejected, never ignored, if it changes how the
///   network trains.
@NullMarked
package org.horovod4j.dl4j.keras;

import org.jspecify.annotations.NullMarked;
