/// One file per algorithm, each with its steps and bytes.
///
/// Ranks of one host: [OneRoundAllreduce] for small tensors, [StagedAllreduce] for large ones,
/// [InPlaceAllreduce] for those that lie in shared memory already; [StagedPipeline] moves everything
/// else. Between hosts, over a [LinkGroup]: [RingAllreduce], [HalvingDoublingAllreduce],
/// [DoublingAllreduce] and [TreeAllreduce].
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.spi`, `org.horovod4j.transport`,
///   `org.horovod4j.collectives.kernel`.
/// - Invariant: the order of a reduction depends on sizes and ranks alone, never on time, and one
///   rank's result is copied to the others: all end with the same bits, in every run.
@NullMarked
package org.horovod4j.collectives.algorithm;

import org.jspecify.annotations.NullMarked;
