/// Jobs whose processes are started by `mpirun`.
///
/// Start with [MpiRunner], the life of such a job, then [MpiInstallation], the installation it finds,
/// [MpiCommand], the command line for each kind of MPI, and [MpiRanks], what becomes known of the
/// ranks: by what they say first ([RankStartLine]), by their lines ([TaggedLine]) and by `mpirun` ([MpiAbortParser]).
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.network`, `org.horovod4j.option`,
///   `org.horovod4j.rendezvous`, `org.horovod4j.security`, `org.horovod4j.launcher.output`,
///   `org.horovod4j.launcher.plan`, `org.horovod4j.launcher.process`.
/// - Invariant: variables travel by name; no value of one, the job's secret least of all, is on a
///   command line.
@NullMarked
package org.horovod4j.launcher.mpi;

import org.jspecify.annotations.NullMarked;
