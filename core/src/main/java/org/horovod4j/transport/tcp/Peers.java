package org.horovod4j.transport.tcp;

import org.horovod4j.spi.RankInfo;

import java.util.List;

/// The ranks that this one has met.
///
/// @param members their cards, by rank
/// @param worldId tells this meeting from others of the same processes
record Peers(List<RankInfo> members, long worldId) {
    Peers {
        members = List.copyOf(members);
    }
}
