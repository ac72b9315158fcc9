package org.horovod4j.runtime;

import org.horovod4j.option.Place;
import org.horovod4j.transport.Topology;
import org.jspecify.annotations.Nullable;

/// Where a rank stands among hosts: the numbers that programs choose devices by.
///
/// @param local this rank among those of its host
/// @param cross this host among those with this local rank
/// @param isHomogeneous whether all hosts have equally many ranks
record Standing(Place local, Place cross, boolean isHomogeneous) {
    /// What the launcher has said, or else what the hosts' names say.
    static Standing of(Topology topology, @Nullable Place local, @Nullable Place cross) {
        return new Standing(
                local == null ? new Place(topology.localRank(), topology.localSize()) : local,
                cross == null ? new Place(topology.crossRank(), topology.crossSize()) : cross,
                topology.isHomogeneous());
    }
}
