/// Operations that the program has submitted.
///
/// A [TensorEntry] is an operation, and the handle that the program waits with.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.spi`, `org.horovod4j.runtime.message`.
/// - Invariant: an entry ends once, and its tensors are not touched afterwards.
@NullMarked
package org.horovod4j.runtime.queue;

import org.jspecify.annotations.NullMarked;
