package org.horovod4j.elastic.registry;

/// What a worker and the desk say to each other.
sealed interface RegistryMessage {
    /// What a worker says.
    sealed interface FromWorker extends RegistryMessage {}

    /// What the desk says.
    sealed interface FromRegistry extends RegistryMessage {}

    /// Nothing but a sign of life.
    record Heartbeat() implements FromWorker, FromRegistry {}

    /// The first that a worker hears.
    ///
    /// @param trainingStarted whether there are workers in training, which this one will keep waiting
    record Welcome(boolean trainingStarted) implements FromRegistry {}

    /// A worker wants a place.
    ///
    /// @param worker its number, the same in all it says
    /// @param generation the one whose state it has, or -1
    /// @param failure the failure that ended that one, or nothing
    record Ready(int worker, int generation, String failure) implements FromWorker {
        public Ready {
            if (worker < 0 || generation < -1) {
                throw new IllegalArgumentException(
                        "worker %d of generation %d".formatted(worker, generation));
            }
        }
    }

    /// A worker has a place.
    ///
    /// @param hostsVersion of the newest change of hosts that the generation takes into account
    record Assigned(WorkerPlacement placement, long hostsVersion) implements FromRegistry {}

    /// There is no place for the worker any more.
    record Dismissed(String reason) implements FromRegistry {}

    /// Hosts have come, or will go.
    record HostsUpdated(long hostsVersion) implements FromRegistry {}
}
