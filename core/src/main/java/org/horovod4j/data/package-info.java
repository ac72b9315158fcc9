/// How the samples of a data set are divided among ranks, for programs and for the adapters of all
/// frameworks.
///
/// Start with [Sampling] (the order of the samples, and what happens to the last ones), then
/// [Shard], one rank's batches of an epoch. Where the number of ranks changes within an epoch,
/// `org.horovod4j.elastic.ElasticSampler` takes the place of [Shard]. For data that can only be read
/// in order there is [RoundRobin]. A [Prefetcher] reads batches ahead.
///
/// [TfRecordFiles] and [TfRecordReader] read TFRecord files; a [TfRecordWriter] writes them.
///
/// - May depend on: `org.horovod4j`.
/// - Invariant: which samples a rank gets follows from seed, epoch, rank and size alone, so ranks
///   exchange no messages about it.
@NullMarked
package org.horovod4j.data;

import org.jspecify.annotations.NullMarked;
