/// What is known about a job before it starts: its hosts, the slot of each rank, its settings.
///
/// Start with [HostPlan], which assigns ranks to the slots of each [Host] in order. [HostFile]
/// reads hosts from a file.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.option`, `org.horovod4j.security`,
///   `org.horovod4j.text`, `org.horovod4j.launcher.file`.
/// - Invariant: a plan depends only on the hosts and the number of processes.
@NullMarked
package org.horovod4j.launcher.plan;

import org.jspecify.annotations.NullMarked;
