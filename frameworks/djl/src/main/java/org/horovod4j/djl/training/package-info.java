/// What goes around distributed training, as listeners and trackers of DJL.
///
/// Start with [MetricAverage] and [BroadcastAtStart], then [LearningRateWarmup] and
/// [LearningRateSchedule], which go by [Epochs]; [Checkpoints] with their file, [CheckpointFile];
/// [TrainingProgress].
///
/// Listeners hear of an event in the order in which they were added, and that order matters:
///
/// ```java
/// config.addTrainingListeners(new MetricAverage())                        // before DJL's own, which read the figures
///       .addTrainingListeners(TrainingListener.Defaults.basic())
///       .addTrainingListeners(checkpoints, Progress.ofEpochs(10).build());  // after them
/// ```
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.djl`, `org.horovod4j.log`,
///   `org.horovod4j.option`, `ai.djl..`.
/// - Invariant: what a listener asks of other ranks, it asks on all ranks, at the same event, in
///   the same order.
@NullMarked
package org.horovod4j.djl.training;

import org.jspecify.annotations.NullMarked;
