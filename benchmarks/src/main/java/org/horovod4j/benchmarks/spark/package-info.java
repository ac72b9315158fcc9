/// Measures how fast ranks in Spark's executors get training data.
///
/// - May depend on: `org.apache.spark..`, `org.horovod4j`, `org.horovod4j.benchmarks.report`,
///   `org.horovod4j.data`, `org.horovod4j.spark`, `org.horovod4j.spark.data`, `scala..`.
/// - Invariant: every way ends with the same values in `float` arrays.
@NullMarked
package org.horovod4j.benchmarks.spark;

import org.jspecify.annotations.NullMarked;
