/// Measures the scaling efficiency of real networks with DJL and PyTorch.
///
/// Start with [DjlTrainingBenchmark] (what one rank does), then [NeuralNetwork] (what it trains) and [DjlTraining]
/// (a step). `training.sh` starts them all. [GpuTrainingBenchmark] is the same on GPUs, for `gpu.sh`.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.djl`, `org.horovod4j.optim`,
///   `org.horovod4j.benchmarks.training`, `ai.djl..`.
/// - Invariant: the single-process baseline runs the same program with the optimizer that is not
///   wrapped.
@NullMarked
package org.horovod4j.benchmarks.training.djl;

import org.jspecify.annotations.NullMarked;
