/// One file per algorithm. Each states its number of steps and bytes.
///
/// Within a host: [OneRoundAllreduce] for small tensors, [StagedAllreduce] or [OwnPartAllreduce]
/// for large ones, [InPlaceAllreduce] for tensors that lie in shared memory. All other collectives go through a
/// [StagedPipeline]. Between hosts, over a [LinkGroup]: [RingAllreduce],
/// [HalvingDoublingAllreduce], [DoublingAllreduce] and [TreeAllreduce].
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.log`, `org.horovod4j.natives`, `org.horovod4j.spi`,
///   `org.horovod4j.transport`, `org.horovod4j.collectives.kernel`.
/// - Invariant: the order of a reduction depends only on sizes and ranks, never on timing, and one
///   rank's result is copied to the others. So all ranks end with the same bits, in every run.
@NullMarked
package org.horovod4j.collectives.algorithm;

import org.jspecify.annotations.NullMarked;
