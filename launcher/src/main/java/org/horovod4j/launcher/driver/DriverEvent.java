package org.horovod4j.launcher.driver;

import org.horovod4j.launcher.plan.Host;

import java.util.List;

/// What can happen to a job.
public sealed interface DriverEvent {
    /// The job begins. Always the first event.
    record JobStarted() implements DriverEvent {}

    /// The hosts that exist now.
    record HostsDiscovered(List<Host> hosts) implements DriverEvent {
        public HostsDiscovered {
            hosts = List.copyOf(hosts);
        }
    }

    /// A host is ready for workers.
    record HostOpened(String host) implements DriverEvent {}

    /// A host cannot be made ready.
    record HostNotReady(String host, String reason) implements DriverEvent {}

    /// Contact with a host is lost. The state of its workers is unknown from now on.
    record HostLost(String host, String reason) implements DriverEvent {}

    /// The process of a worker runs.
    record WorkerStarted(int worker, long pid) implements DriverEvent {}

    /// The process of a worker could not be started.
    record WorkerNotStarted(int worker, String reason) implements DriverEvent {}

    /// A worker asks for a place in the next generation.
    ///
    /// @param stateGeneration the generation whose state it has; negative for none
    /// @param failure the failure that it saw; empty for none
    record WorkerReady(int worker, int stateGeneration, String failure) implements DriverEvent {}

    /// A worker does not answer; its process may still run.
    record WorkerUnresponsive(int worker, String reason) implements DriverEvent {}

    /// The process of a worker has exited.
    ///
    /// @param description "exit code 3", "killed by signal 9 (SIGKILL)"
    record WorkerExited(int worker, boolean failed, String description) implements DriverEvent {}

    /// The ranks report which of them failed first. Its process may exit later than those of ranks
    /// that failed because of it.
    record FailureReported(int rank, String reason) implements DriverEvent {}

    /// Ranks report that they cannot continue without a rank that has left, has ended or failed. Its
    /// exit code may be 0.
    record RankMissed(int rank, String reason) implements DriverEvent {}

    /// A signal was sent to all processes: from now on they may exit because of it.
    record SignalSent() implements DriverEvent {}

    /// Time has passed.
    record TimePassed() implements DriverEvent {}
}
