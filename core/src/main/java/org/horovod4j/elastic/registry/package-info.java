/// The connection between the workers of an elastic job and the launcher, which assigns their ranks.
///
/// Start with [WorkerRegistry] (the launcher's end) and [RegistryClient] (a worker's end).
/// [RegistryMessage] lists the messages, [WorkerPlacement] is a worker's rank in one generation.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.connection`, `org.horovod4j.frame`,
///   `org.horovod4j.log`, `org.horovod4j.security`.
/// - Invariant: every worker of a generation receives the same hosts version with its rank, so all
///   workers agree on which changes are newer than the generation.
@NullMarked
package org.horovod4j.elastic.registry;

import org.jspecify.annotations.NullMarked;
