/// Measures training with Deeplearning4j.
///
/// [Dl4jTrainingBenchmark] measures the scaling efficiency of a network, for `training.sh`; [Dl4jTraining] is a
/// step, [ConvolutionalNetwork] the network. [ParallelWrapperBenchmark] compares Horovod4J with DL4J's `ParallelWrapper`, for
/// `parallel-wrapper.sh`.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.data`, `org.horovod4j.dl4j`,
///   `org.horovod4j.benchmarks.training`, `org.deeplearning4j..`, `org.nd4j..`.
/// - Invariant: programs that are compared have the same network and the same batches.
@NullMarked
package org.horovod4j.benchmarks.training.dl4j;

import org.jspecify.annotations.NullMarked;
