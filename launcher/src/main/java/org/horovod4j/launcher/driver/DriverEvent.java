package org.horovod4j.launcher.driver;

import org.horovod4j.launcher.plan.Host;

import java.util.List;

/// What can happen to an elastic job.
public sealed interface DriverEvent {
    /// These hosts there are now.
    record HostsDiscovered(List<Host> hosts) implements DriverEvent {
        public HostsDiscovered {
            hosts = List.copyOf(hosts);
        }
    }

    /// A host is ready for workers.
    record HostOpened(String host) implements DriverEvent {}

    /// A host cannot be made ready.
    record HostNotReady(String host, String reason) implements DriverEvent {}

    /// Nothing is known any more of the workers of a host.
    record HostLost(String host, String reason) implements DriverEvent {}

    /// A worker wants a place in the next generation.
    ///
    /// @param stateGeneration whose state it has; negative when it has none
    /// @param failure the failure that it saw; empty when there was none
    record WorkerReady(int worker, int stateGeneration, String failure) implements DriverEvent {}

    /// A worker answers no more, while its process is not known to have ended.
    record WorkerUnresponsive(int worker, String reason) implements DriverEvent {}

    /// The process of a worker has ended, or could not be started.
    record WorkerExited(int worker, boolean failed, String description) implements DriverEvent {}

    /// Time has passed.
    record TimePassed() implements DriverEvent {}
}
