/// Reads rank and size from the variables that schedulers and MPI launchers set for the processes
/// they start.
///
/// Start with [SchedulerAssignment], which tries them in order, then one file for each: [OpenMpi],
/// [Pmi], [Slurm].
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.spi`.
/// - Invariant: a process that was not started as one of several gets no assignment, even if a
///   scheduler has left variables in its environment.
@NullMarked
package org.horovod4j.scheduler;

import org.jspecify.annotations.NullMarked;
