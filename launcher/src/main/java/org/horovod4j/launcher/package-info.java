/// The command `horovodrun`: starts a program once for each rank, and watches over the processes.
///
/// Start with [HorovodRun], which reads from top to bottom like the life of a job, then [Job].
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.option`, `org.horovod4j.rendezvous`,
///   `org.horovod4j.trust`, `org.horovod4j.launcher.plan`,
///   `org.horovod4j.launcher.process`, `org.horovod4j.launcher.remote`,
///   `org.horovod4j.launcher.output`.
/// - Used by: its script alone.
/// - Invariant: the job's secret travels in the environment, never on a command line.
@NullMarked
package org.horovod4j.launcher;

import org.jspecify.annotations.NullMarked;
