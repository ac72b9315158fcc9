package org.horovod4j.transport;

import java.util.List;

/// Links numbered by rank in a process set: the link to set rank `i` is the link to the set's
/// `i`-th member.
///
/// [Link#peer] is still the rank in the world, which is the one to name in an error.
public final class ProcessSetLinks implements Links {
    private final Links links;
    private final List<Integer> worldRanks;

    /// @param links the links by rank in the world
    /// @param worldRanks the members of the process set, by set rank
    public ProcessSetLinks(Links links, List<Integer> worldRanks) {
        this.links = links;
        this.worldRanks = List.copyOf(worldRanks);
    }

    @Override
    public Link link(int peer) {
        return links.link(worldRanks.get(peer));
    }

    @Override
    public void reset() {
        links.reset();
    }

    @Override
    public void useStreams(int streams) {
        links.useStreams(streams);
    }

    @Override
    public void close() {
        links.close();
    }
}
