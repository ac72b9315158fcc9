/// The messages between ranks and their coordinator, and the report when ranks request different
/// things.
///
/// Start with [Request], then [RankMessage] and [CoordinatorMessage].
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.spi`, `org.horovod4j.text`.
@NullMarked
package org.horovod4j.runtime.message;

import org.jspecify.annotations.NullMarked;
