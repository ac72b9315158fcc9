/// Measures jobs on Spark: how long ranks take to start in executors, and to get training data.
///
/// - May depend on: `org.apache.spark..`, `org.horovod4j`, `org.horovod4j.benchmarks.report`,
///   `org.horovod4j.data`, `org.horovod4j.spark`, `org.horovod4j.spark.data`, `scala..`.
/// - Invariant: what is compared runs in one application, in turns.
@NullMarked
package org.horovod4j.benchmarks.spark;

import org.jspecify.annotations.NullMarked;
