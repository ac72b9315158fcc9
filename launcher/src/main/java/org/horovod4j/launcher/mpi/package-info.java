/// Jobs that `mpirun` starts.
///
/// Start with [MpiRunner] (runs such a job), then [MpiKind] (finds `mpirun`), [MpiCommand]
/// (the command line for each kind of MPI) and [MpiRanks] (what is known about the ranks, from
/// their output ([MpiLine]) and the messages of `mpirun` ([MpiAbortParser])).
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.network`, `org.horovod4j.option`,
///   `org.horovod4j.rendezvous`, `org.horovod4j.security`, `org.horovod4j.text`,
///   `org.horovod4j.launcher.output`, `org.horovod4j.launcher.plan`,
///   `org.horovod4j.launcher.process`.
/// - Invariant: variables are passed by name. No value, and above all not the job's secret, is on a
///   command line.
@NullMarked
package org.horovod4j.launcher.mpi;

import org.jspecify.annotations.NullMarked;
