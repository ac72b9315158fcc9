/// Training data of Spark, as batches of primitive arrays.
///
/// Start with [Store] (writes the rows of a `Dataset` as Parquet files, or uses files that exist) and
/// [StoredData] (their description, which travels to the ranks). A [RankReader] reads one rank's
/// part of the rows, epoch after epoch, as [RowBatch]es. [DatasetBatches] reads the partitions of a
/// `Dataset` once, without files.
///
/// - May depend on: `org.apache.hadoop..`, `org.apache.parquet..`, `org.apache.spark..`,
///   `org.horovod4j`, `org.horovod4j.data`, `org.horovod4j.log`, `org.horovod4j.text`, `scala..`.
/// - Invariant: which rows a rank gets, and in which order, follows from the files, the
///   [ReadOptions], epoch, rank and size alone. It does not depend on the memory of a machine.
/// - Invariant: reading needs no Spark session, so that any process with Spark's jars can do it.
@NullMarked
package org.horovod4j.spark.data;

import org.jspecify.annotations.NullMarked;
