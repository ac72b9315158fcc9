/// DJL training that goes on when workers come and go.
///
/// Start with [DjlState], which `org.horovod4j.elastic.Elastic` is given like any other state.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.elastic`, `org.horovod4j.djl`, `ai.djl..`.
/// - Invariant: a commit is written to the arrays that there are when it is restored, never to
///   memory that an array had once.
@NullMarked
package org.horovod4j.djl.elastic;

import org.jspecify.annotations.NullMarked;
