package org.horovod4j.transport;

import java.util.List;

/// Links as a process set numbers its ranks: the link to set rank i is the one to the i-th member.
///
/// A link still tells its peer's rank in the world, which is what an error should name.
public final class ProcessSetLinks implements Links {
    private final Links links;
    private final List<Integer> worldRanks;

    /// @param links by rank in the world
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
