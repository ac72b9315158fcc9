/// Decides which operations are fused.
///
/// Start with [Fusion], which forms batches, then [Batch] and [Plan], the batches of a repeated
/// step.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.spi`, `org.horovod4j.runtime.message`,
///   `org.horovod4j.runtime.queue`.
/// - Invariant: a batch has one kind, data type, reduce op and scale.
@NullMarked
package org.horovod4j.runtime.fusion;

import org.jspecify.annotations.NullMarked;
