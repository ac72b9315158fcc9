/// Measures a training by an estimator of Spark beside the same training by `horovodrun`.
///
/// Start with [EstimatorBenchmark] and [PlainBenchmark], which `spark-training.sh` runs in turns.
///
/// - May depend on: `ai.djl..`, `org.apache.spark..`, `org.horovod4j`, `org.horovod4j.djl`,
///   `org.horovod4j.spark.djl`, `org.horovod4j.spark.ml`.
/// - Invariant: both have the same network, data, batches, metrics and optimizer.
@NullMarked
package org.horovod4j.benchmarks.spark.training;

import org.jspecify.annotations.NullMarked;
