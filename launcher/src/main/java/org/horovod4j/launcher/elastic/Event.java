package org.horovod4j.launcher.elastic;

import org.horovod4j.launcher.plan.Host;

import java.util.List;

/// What can happen to an elastic job.
public sealed interface Event {
    /// These hosts there are now.
    record Listed(List<Host> hosts) implements Event {
        public Listed {
            hosts = List.copyOf(hosts);
        }
    }

    /// A host is ready for workers.
    record HostOpened(String host) implements Event {}

    /// A host cannot be made ready.
    record HostRefused(String host, String reason) implements Event {}

    /// Nothing is known any more of the workers of a host.
    record HostLost(String host, String reason) implements Event {}

    /// A worker wants a place in the next generation.
    ///
    /// @param generation whose state it has; negative when it has none
    /// @param why the failure that it saw; empty when there was none
    record Ready(int worker, int generation, String why) implements Event {}

    /// A worker answers no more, while its process is not known to have ended.
    record Silent(int worker, String how) implements Event {}

    /// The process of a worker has ended, or could not be started.
    record Ended(int worker, boolean failed, String how) implements Event {}

    /// Time has passed.
    record Passed() implements Event {}
}
