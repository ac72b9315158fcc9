/// Passes a batch to the backend, and its results to the entries.
///
/// Start with [Dispatcher].
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.spi`, `org.horovod4j.runtime.message`,
///   `org.horovod4j.runtime.queue`, `org.horovod4j.runtime.fusion`.
@NullMarked
package org.horovod4j.runtime.dispatch;

import org.jspecify.annotations.NullMarked;
