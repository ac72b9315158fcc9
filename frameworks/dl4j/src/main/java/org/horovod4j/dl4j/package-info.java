/// Distributed training for Deeplearning4j programs.
///
/// Start with [HvdDl4j] (what a program calls), then [FlatGradient] (averages the gradient of a step
/// over all ranks) and [DistributedUpdaters] and
/// [DistributedVariables] (where DL4J and SameDiff call it). [ShardedDataSetIterator] and
/// [SampledDataSetIterator] divide the data.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.data`, `org.horovod4j.optim`,
///   `org.horovod4j.training`, `org.bytedeco.javacpp`, `org.deeplearning4j..`, `org.nd4j..`.
/// - Invariant: all ranks apply the same update to the same parameters, bit for bit.
@NullMarked
package org.horovod4j.dl4j;

import org.jspecify.annotations.NullMarked;
