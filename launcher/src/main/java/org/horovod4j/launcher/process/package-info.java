/// Processes of a job: finding the program, starting it on a host, ending it whatever happens.
///
/// Start with [HostAgent], then [LocalHost], then [Watchdog], which outlives the launcher by
/// design. [OutputReader] reads what a process prints.
///
/// - May depend on: `org.horovod4j`.
/// - Invariant: a process that the launcher started, or that such a process started, ends with the
///   job, also when the launcher is killed without a chance to say goodbye.
@NullMarked
package org.horovod4j.launcher.process;

import org.jspecify.annotations.NullMarked;
