/// Sums sparse tensors over all ranks: rows with indices, or the whole where that is smaller.
///
/// Start with [SparseAllreduce]; [SparseRequest] is what the ranks tell each other first, [RowCoalescer] makes
/// one row of those with equal indices.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.collectives.kernel`.
/// - Invariant: what is decided is decided by numbers that all ranks have, and rows are summed in
///   rank order: all ranks end with the same bits.
@NullMarked
package org.horovod4j.sparse;

import org.jspecify.annotations.NullMarked;
