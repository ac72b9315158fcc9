package org.horovod4j.transport.tcp;

import org.horovod4j.spi.Member;

import java.util.List;

/// The ranks that this one has met.
///
/// @param members their cards, by rank
/// @param world tells this meeting from others of the same processes
record Peers(List<Member> members, long world) {
    Peers {
        members = List.copyOf(members);
    }
}
