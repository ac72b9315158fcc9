/// Requests that all ranks have agreed on before, so that a number is enough to ask for them again.
///
/// The coordinator keeps a [CoordinatorCache] and tells the ranks what it writes there; each rank keeps a
/// [RankCache].
///
/// - May depend on: `org.horovod4j.runtime.message`.
/// - Invariant: a slot number is used once, so that nothing said about an old one is taken for a
///   new one.
@NullMarked
package org.horovod4j.runtime.cache;

import org.jspecify.annotations.NullMarked;
