/// Measures the scaling efficiency of a network with TensorFlow Java.
///
/// Start with [TensorFlowTrainingBenchmark] (what one rank does), then [TensorFlowTraining] (the
/// network, and a step). `training.sh` starts them.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.tensorflow`, `org.horovod4j.benchmarks.training`,
///   `org.tensorflow..`.
/// - Invariant: the single-process baseline runs the same program with the optimizer that is not
///   wrapped.
@NullMarked
package org.horovod4j.benchmarks.training.tensorflow;

import org.jspecify.annotations.NullMarked;
