/// What schedulers and MPI launchers tell the processes that they start, in their own variables.
///
/// Start with [SchedulerAssignment], which asks one after the other, then a file for each: [OpenMpi], [Pmi],
/// [Slurm], [Pmix].
///
/// - May depend on: `org.horovod4j`.
/// - Invariant: a process that nobody has started as one of several gets no assignment, whatever a
///   scheduler has left in its environment.
@NullMarked
package org.horovod4j.scheduler;

import org.jspecify.annotations.NullMarked;
