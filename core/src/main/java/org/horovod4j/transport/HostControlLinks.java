package org.horovod4j.transport;

import java.util.HashMap;
import java.util.List;
import java.util.Map;

/// The links that carry control messages between rank 0 of a process set and the other ranks: rings
/// in shared memory within its host, other links to other hosts.
public final class HostControlLinks implements AutoCloseable {
    private final LocalGroup localGroup;
    private final Links others;
    private final List<Integer> jobRanks;
    private final Map<Integer, Link> rings = new HashMap<>();

    /// @param others the links between hosts, by rank in the set
    /// @param jobRanks the members of the process set, by rank in the set
    public HostControlLinks(LocalGroup localGroup, Links others, List<Integer> jobRanks) {
        this.localGroup = localGroup;
        this.others = others;
        this.jobRanks = List.copyOf(jobRanks);
    }

    /// The link to a rank of the set, opened if necessary. One of the two is rank 0.
    public Link link(int peer) {
        List<Integer> local = localGroup.ranks();
        boolean withinHost = local.contains(0) && local.contains(peer);
        return withinHost ? rings.computeIfAbsent(peer, this::ring) : others.link(peer);
    }

    private Link ring(int peer) {
        return localGroup.controlLink(localGroup.ranks().indexOf(peer), jobRanks.get(peer));
    }

    @Override
    public void close() {
        rings.values().forEach(Link::close);
        others.close();
    }
}
