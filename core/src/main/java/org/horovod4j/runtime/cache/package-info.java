/// Requests that all ranks have agreed on before. A number is enough to request them again.
///
/// The coordinator keeps a [CoordinatorCache] and sends its changes to the ranks; each rank keeps a
/// [RankCache].
///
/// - May depend on: `org.horovod4j.runtime.message`, `org.horovod4j.spi`.
/// - Invariant: a slot number is used once, so a late message never refers to another request.
@NullMarked
package org.horovod4j.runtime.cache;

import org.jspecify.annotations.NullMarked;
