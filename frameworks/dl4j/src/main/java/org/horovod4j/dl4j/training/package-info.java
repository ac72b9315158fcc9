/// Listeners of DL4J for distributed training, over the classes of `org.horovod4j.training` and
/// `org.horovod4j.checkpoint`; early stopping; the state of an elastic job.
///
/// Start with [ScoreAverage], then [Checkpoints] and [ProgressListener]. DL4J calls listeners in the
/// order in which they were added. Add a [ScoreAverage] first: those after it see the score of all
/// ranks at the end of an epoch.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.checkpoint`, `org.horovod4j.elastic`,
///   `org.horovod4j.training`, `org.horovod4j.dl4j`, `org.deeplearning4j..`, `org.nd4j..`.
/// - Invariant: all ranks communicate at the same event, in the same order.
@NullMarked
package org.horovod4j.dl4j.training;

import org.jspecify.annotations.NullMarked;
