package org.horovod4j.runtime;

import org.horovod4j.option.Position;
import org.horovod4j.transport.Topology;
import org.jspecify.annotations.Nullable;

/// Where a rank stands among hosts: the numbers that programs choose devices by.
///
/// @param local this rank among those of its host
/// @param cross this host among those with this local rank
/// @param isHomogeneous whether all hosts have equally many ranks
record Standing(Position local, Position cross, boolean isHomogeneous) {
    /// What the launcher has said, or else what the hosts' names say.
    static Standing of(Topology topology, @Nullable Position local, @Nullable Position cross) {
        return new Standing(
                local == null ? new Position(topology.localRank(), topology.localSize()) : local,
                cross == null ? new Position(topology.crossRank(), topology.crossSize()) : cross,
                topology.isHomogeneous());
    }
}
