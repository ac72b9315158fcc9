/// Measures the scaling efficiency of a network with PyTorch by Bytedeco.
///
/// Start with [TorchTrainingBenchmark] (what one rank does), then [TorchTraining] (the network, and a
/// step). `training.sh` starts them.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.pytorch`, `org.horovod4j.benchmarks.training`,
///   `org.bytedeco..`.
/// - Invariant: the single-process baseline runs the same program with the optimizer that is not
///   wrapped.
@NullMarked
package org.horovod4j.benchmarks.training.pytorch;

import org.jspecify.annotations.NullMarked;
