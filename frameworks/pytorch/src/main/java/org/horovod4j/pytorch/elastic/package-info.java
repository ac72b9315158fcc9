/// Elastic training of PyTorch: it continues when workers join or leave.
///
/// Start with [TorchState], a state for `org.horovod4j.elastic.Elastic`.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.elastic`, `org.horovod4j.training`,
///   `org.horovod4j.pytorch`, `org.bytedeco..`.
/// - Invariant: a commit is restored to the tensors of that moment, never to memory that a tensor had
///   before.
@NullMarked
package org.horovod4j.pytorch.elastic;

import org.jspecify.annotations.NullMarked;
