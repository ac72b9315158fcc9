/// The line between a worker of an elastic job and the driver that gives it its places.
///
/// Start with [WorkerDesk], the driver's end, and [WorkerLine], a worker's. A [Place] is what goes
/// from one to the other; [Word] lists all that is said.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.frame`, `org.horovod4j.log`,
///   `org.horovod4j.trust`.
/// - Used by: `org.horovod4j.runtime`, the launcher.
/// - Invariant: every worker of a generation is told the same stamp with its place, so what is
///   newer than the generation is newer for all of them.
@NullMarked
package org.horovod4j.elastic.desk;

import org.jspecify.annotations.NullMarked;
