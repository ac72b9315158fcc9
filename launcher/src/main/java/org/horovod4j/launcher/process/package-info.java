/// Processes of a job: finding the program, starting it on a host, ending it whatever happens.
///
/// Start with [HostAgent], then [LocalHost], whose watchdog outlives the launcher.
/// [OutputReader] reads the output of a process.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.file`, `org.horovod4j.network`.
/// - Invariant: a process that the launcher started, or that such a process started, ends with the
///   job, also when the launcher is killed with SIGKILL.
@NullMarked
package org.horovod4j.launcher.process;

import org.jspecify.annotations.NullMarked;
