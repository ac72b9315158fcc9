/// Remote hosts: one ssh connection to each, with an agent of Horovod4J at the other end.
///
/// Start with [RemoteHost] (the launcher's end), then [HostSetup] and [AgentBootstrap] (how the
/// agent is started), then [Agent] (the remote end). [RemoteShell] is ssh or a replacement.
/// [AgentMessage] lists the messages.
///
/// The agent runs its processes through the same `LocalHost` as the launcher, so process groups,
/// signals and cleanup share one implementation. Its jar ([AgentJar]) contains this package, those
/// of processes, files, frames, network and text, and the exceptions. A dependency on any other
/// package would be missing there.
///
/// The connection is not an `org.horovod4j.connection.Connection`: its transport is the standard
/// streams of ssh, which authenticates and encrypts, and sending must block so that a slow console
/// slows the rank down.
///
/// - May depend on: `org.horovod4j`, `org.horovod4j.file`, `org.horovod4j.frame`,
///   `org.horovod4j.network`, `org.horovod4j.text`, `org.horovod4j.launcher.plan`, `org.horovod4j.launcher.process`.
/// - Invariant: when one end of a connection is silent, the other end notices, and no process of
///   the job stays on the host.
@NullMarked
package org.horovod4j.launcher.remote;

import org.jspecify.annotations.NullMarked;
