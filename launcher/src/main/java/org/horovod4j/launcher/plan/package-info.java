/// Which rank runs where.
///
/// Start with [HostPlan], which hands out the slots of every [Host] in order; [HostFile] reads
/// them.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.option`, `org.horovod4j.launcher.file`.
/// - Invariant: a plan depends on the hosts and the number of processes alone, so that two
///   launchers given the same ones number their ranks alike.
@NullMarked
package org.horovod4j.launcher.plan;

import org.jspecify.annotations.NullMarked;
