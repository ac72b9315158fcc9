package org.horovod4j.runtime;

import org.horovod4j.option.RankAndSize;
import org.horovod4j.transport.Topology;
import org.jspecify.annotations.Nullable;

/// Where a rank stands among hosts: the numbers that programs choose devices by.
///
/// @param local this rank among those of its host
/// @param cross this host among those with this local rank
/// @param isHomogeneous whether all hosts have equally many ranks
record RankPlacement(RankAndSize local, RankAndSize cross, boolean isHomogeneous) {
    /// What the launcher has said, or else what the hosts' names say.
    static RankPlacement of(
            Topology topology, @Nullable RankAndSize local, @Nullable RankAndSize cross) {
        return new RankPlacement(
                local == null ? new RankAndSize(topology.localRank(), topology.localSize()) : local,
                cross == null ? new RankAndSize(topology.crossRank(), topology.crossSize()) : cross,
                topology.isHomogeneous());
    }
}
