package org.horovod4j.elastic.desk;

/// What a worker and the desk say to each other.
sealed interface Word {
    /// What a worker says.
    sealed interface FromWorker extends Word {}

    /// What the desk says.
    sealed interface FromDesk extends Word {}

    /// Nothing but a sign of life.
    record Alive() implements FromWorker, FromDesk {}

    /// The first that a worker hears.
    ///
    /// @param hasBegun whether there are workers in training, which this one will keep waiting
    record Welcome(boolean hasBegun) implements FromDesk {}

    /// A worker wants a place.
    ///
    /// @param worker its number, the same in all it says
    /// @param generation the one whose state it has, or -1
    /// @param why the failure that ended that one, or nothing
    record Ready(int worker, int generation, String why) implements FromWorker {
        public Ready {
            if (worker < 0 || generation < -1) {
                throw new IllegalArgumentException(
                        "worker %d of generation %d".formatted(worker, generation));
            }
        }
    }

    /// A worker has a place.
    ///
    /// @param stamp of the newest change of hosts that the generation takes into account
    record Assigned(Place place, long stamp) implements FromDesk {}

    /// There is no place for the worker any more.
    record Dismissed(String reason) implements FromDesk {}

    /// Hosts have come, or will go.
    record HostsUpdated(long stamp) implements FromDesk {}
}
