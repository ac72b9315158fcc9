/// Estimators of Spark ML that train networks of DJL.
///
/// Start with [DjlEstimator] and [DjlModel]. [DjlNetwork] is DJL as a framework of
/// `org.horovod4j.spark.ml`.
///
/// - May depend on: `ai.djl..`, `org.apache.spark..`, `org.horovod4j`, `org.horovod4j.djl`,
///   `org.horovod4j.djl.training`, `org.horovod4j.spark.ml`.
/// - Invariant: what a model saves can be loaded by DJL alone.
@NullMarked
package org.horovod4j.spark.djl;

import org.jspecify.annotations.NullMarked;
