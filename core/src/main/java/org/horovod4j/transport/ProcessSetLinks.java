package org.horovod4j.transport;

import java.util.List;

/// Links numbered by rank in a process set: the link to set rank `i` is the link to the set's
/// `i`-th member.
///
/// [Link#peer] is still the rank in the world, which is the one to name in an error.
public final class ProcessSetLinks implements Links {
    private final Links links;
    private final List<Integer> jobRanks;

    /// @param links the links by rank in the world
    /// @param jobRanks the members of the process set, by set rank
    public ProcessSetLinks(Links links, List<Integer> jobRanks) {
        this.links = links;
        this.jobRanks = List.copyOf(jobRanks);
    }

    @Override
    public Link link(int peer) {
        return links.link(jobRanks.get(peer));
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
