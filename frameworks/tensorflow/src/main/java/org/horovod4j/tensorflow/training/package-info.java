/// Training loops for TensorFlow Java programs, over the classes of `org.horovod4j.training` and
/// `org.horovod4j.checkpoint`.
///
/// Start with [TrainingSession] (what `MonitoredTrainingSession` is in Python) and its hooks,
/// [MetricLog] and [ProgressHook]. An [Estimator] trains, evaluates and predicts with a function that
/// builds a graph and another that returns batches. A [TensorFlowState] keeps the variables of an
/// elastic job. [SavedModelExport] writes a network for programs without Horovod4J.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.checkpoint`, `org.horovod4j.data`,
///   `org.horovod4j.elastic`, `org.horovod4j.log`, `org.horovod4j.training`, `org.horovod4j.tensorflow`,
///   `org.horovod4j.tensorflow.kernel`, `org.tensorflow..`.
/// - Invariant: all ranks run the same steps, and communicate in the same steps.
@NullMarked
package org.horovod4j.tensorflow.training;

import org.jspecify.annotations.NullMarked;
