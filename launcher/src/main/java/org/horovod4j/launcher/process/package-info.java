/// Processes of a job: finding the program, starting it on a host, ending it whatever happens.
///
/// Start with [HostAgent], then [LocalHost], whose watchdog outlives the launcher: a shell script, or [Watchdog] on other systems than
/// Linux.
/// [OutputReader] reads the output of a process.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.file`, `org.horovod4j.network`, `sun.misc`
///   (signals).
/// - Invariant: a process that the launcher started, or that such a process started, ends with the
///   job, also when the launcher is killed with SIGKILL. (On Linux.)
@NullMarked
package org.horovod4j.launcher.process;

import org.jspecify.annotations.NullMarked;
