/// Hosts behind ssh: one connection to each, with an agent of ours at its far end.
///
/// Start with [RemoteHost], the launcher's side, then [HostSetup] and [AgentBootstrap] (how the agent gets
/// there), then [Agent], the far side. [RemoteShell] is what may run in place of ssh. [AgentMessage] lists all that the two say to each other.
///
/// The agent runs its processes through the same `LocalHost` as the launcher does, so groups,
/// signals and sweeping are one code here and there. Its jar holds this package, those of processes
/// and frames and the exceptions ([AgentJar]): whatever else this package came to depend on would
/// be missing.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.frame`, `org.horovod4j.text`,
///   `org.horovod4j.launcher.plan`, `org.horovod4j.launcher.process`.
/// - Invariant: whichever end of a connection falls silent, the other notices by itself, and
///   nothing of the job stays on the host.
@NullMarked
package org.horovod4j.launcher.remote;

import org.jspecify.annotations.NullMarked;
