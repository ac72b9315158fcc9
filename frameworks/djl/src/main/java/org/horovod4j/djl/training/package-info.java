/// Listeners of DJL for distributed training, over the classes of `org.horovod4j.training` and
/// `org.horovod4j.checkpoint`.
///
/// Start with [MetricAverage] and [BroadcastAtStart], then [Checkpoints], [ProgressListener] and
/// [MomentumCorrection]. A learning rate of `org.horovod4j.training` becomes a tracker of DJL by a
/// method reference: `Tracker rate = schedule::at`.
///
/// DJL calls listeners in the order in which they were added, and the order matters:
///
/// ```java
/// config.addTrainingListeners(new MetricAverage())               // before DJL's, which read the metrics
///       .addTrainingListeners(TrainingListener.Defaults.basic())
///       .addTrainingListeners(checkpoints, new ProgressListener(progress));   // after DJL's
/// ```
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.checkpoint`, `org.horovod4j.training`,
///   `org.horovod4j.djl`, `ai.djl..`.
/// - Invariant: all ranks communicate at the same event, in the same order.
@NullMarked
package org.horovod4j.djl.training;

import org.jspecify.annotations.NullMarked;
