/// Sums sparse tensors over all ranks: as rows with indices, or as the whole tensor if that is
/// smaller.
///
/// Start with [SparseAllreduce]. The ranks first exchange a [SparseRequest]. [RowCoalescer] adds rows
/// with equal indices.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.collectives.kernel`, `org.horovod4j.spi`.
/// - Invariant: all ranks decide by the same numbers and add rows in the order of ranks, so all end
///   with the same bits.
@NullMarked
package org.horovod4j.sparse;

import org.jspecify.annotations.NullMarked;
