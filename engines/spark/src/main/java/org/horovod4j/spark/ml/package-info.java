/// Estimators and models of Spark ML that train on ranks in executors, for any framework.
///
/// Start with [HvdEstimator] (the parameters, on the driver), then [RankFit] (the training loop on a
/// rank) and [HvdModel] (predictions). A framework implements [NetworkFramework] and its two parts.
///
/// - May depend on: `org.apache.hadoop..`, `org.apache.spark..`, `org.horovod4j`,
///   `org.horovod4j.checkpoint`, `org.horovod4j.data`, `org.horovod4j.log`, `org.horovod4j.spark`,
///   `org.horovod4j.spark.data`, `org.horovod4j.training`, `scala..`.
/// - Invariant: all ranks make the same calls of the framework in the same order.
@NullMarked
package org.horovod4j.spark.ml;

import org.jspecify.annotations.NullMarked;
