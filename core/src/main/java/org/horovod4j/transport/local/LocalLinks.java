package org.horovod4j.transport.local;

import org.horovod4j.transport.Link;
import org.horovod4j.transport.LinkBrokenException;
import org.horovod4j.transport.Links;
import org.horovod4j.transport.RingLink;

import java.util.HashMap;
import java.util.Map;

/// Links between ranks of one JVM: a ring each way.
final class LocalLinks implements Links {
    /// The epoch of a closed channel.
    private static final int CLOSED_EPOCH = Integer.MAX_VALUE;

    private final LocalRings.ChannelRings rings;
    private final int rank;
    private final Map<Integer, Link> links = new HashMap<>();
    private int epoch;

    LocalLinks(LocalRings.ChannelRings rings, int rank) {
        this.rings = rings;
        this.rank = rank;
    }

    @Override
    public synchronized Link link(int peer) {
        if (epoch == CLOSED_EPOCH) {
            throw new LinkBrokenException(peer, "rank " + rank + " has closed the channel", null);
        }
        return links.computeIfAbsent(
                peer,
                _ ->
                        new RingLink(
                                peer,
                                rings.ring(rank, peer, epoch),
                                rings.ring(peer, rank, epoch),
                                () -> {}));
    }

    @Override
    public synchronized void reset() {
        advance(epoch + 1);
    }

    /// Ignored: a link is always one pair of rings.
    @Override
    public void useStreams(int streams) {}

    @Override
    public synchronized void close() {
        advance(CLOSED_EPOCH);
    }

    private void advance(int next) {
        if (epoch < next) {
            epoch = next;
            links.clear();
            rings.advance(rank, next);
        }
    }
}
