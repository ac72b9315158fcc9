/// What the program has submitted and not yet got back.
///
/// An [TensorEntry] is an operation and the handle that the program holds of it.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.runtime.message`.
/// - Invariant: an entry ends once, and its tensors are not touched afterwards.
@NullMarked
package org.horovod4j.runtime.queue;

import org.jspecify.annotations.NullMarked;
