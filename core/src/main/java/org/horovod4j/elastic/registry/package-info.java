/// The line between a worker of an elastic job and the driver that gives it its places.
///
/// Start with [WorkerRegistry], the driver's end, and [RegistryClient], a worker's. A [WorkerPlacement] is what goes
/// from one to the other; [RegistryMessage] lists all that is said.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.frame`, `org.horovod4j.log`,
///   `org.horovod4j.security`.
/// - Invariant: every worker of a generation is told the same stamp with its place, so what is
///   newer than the generation is newer for all of them.
@NullMarked
package org.horovod4j.elastic.registry;

import org.jspecify.annotations.NullMarked;
