/// The command `horovodrun`, which starts a program once for each rank and monitors the processes,
/// and [Launcher], which does the same for a function of a running program.
///
/// Start with [HorovodRun], then [FixedLaunch] (what a job consists of) and [Job] (its event loop).
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.codec`, `org.horovod4j.option`,
///   `org.horovod4j.elastic.registry`, `org.horovod4j.rendezvous`, `org.horovod4j.network`,
///   `org.horovod4j.security`, `org.horovod4j.text`, `org.horovod4j.launcher.check`,
///   `org.horovod4j.launcher.command`, `org.horovod4j.launcher.driver`,
///   `org.horovod4j.launcher.mpi`, `org.horovod4j.launcher.plan`,
///   `org.horovod4j.launcher.process`, `org.horovod4j.launcher.remote`,
///   `org.horovod4j.launcher.output`, `org.horovod4j.launcher.function`, `sun.misc` (signals).
/// - Invariant: the job's secret is passed in the environment, never on a command line.
@NullMarked
package org.horovod4j.launcher;

import org.jspecify.annotations.NullMarked;
