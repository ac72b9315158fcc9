package org.horovod4j.elastic.registry;

/// The messages between a worker and the registry.
sealed interface RegistryMessage {
    /// Messages that a worker sends.
    sealed interface FromWorker extends RegistryMessage {}

    /// Messages that the registry sends.
    sealed interface FromRegistry extends RegistryMessage {}

    /// The first message to a worker.
    ///
    /// @param trainingStarted whether other workers train already
    record Welcome(boolean trainingStarted) implements FromRegistry {}

    /// A worker asks for a rank.
    ///
    /// @param worker its number, the same in all its messages
    /// @param generation the newest generation whose state it has, or -1
    /// @param failure the failure that ended that generation, or an empty text
    record Ready(int worker, int generation, String failure) implements FromWorker {
        public Ready {
            if (worker < 0 || generation < -1) {
                throw new IllegalArgumentException(
                        "worker %d of generation %d".formatted(worker, generation));
            }
        }
    }

    /// The worker's rank in the next generation.
    ///
    /// @param hostsVersion the newest change of hosts that the generation includes
    record Assigned(WorkerPlacement placement, long hostsVersion) implements FromRegistry {}

    /// The job needs the worker no longer.
    record Dismissed(String reason) implements FromRegistry {}

    /// The hosts of the job have changed.
    record HostsUpdated(long hostsVersion) implements FromRegistry {}
}
