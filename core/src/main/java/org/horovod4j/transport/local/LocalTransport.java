package org.horovod4j.transport.local;

import org.horovod4j.transport.LinkTransport;
import org.horovod4j.transport.Links;
import org.horovod4j.transport.Liveness;

import java.util.HashMap;
import java.util.Map;

/// The channels of a rank whose peers are in the same JVM.
public final class LocalTransport implements LinkTransport {
    private final LocalRings rings;
    private final int rank;
    private final Map<Integer, LocalLinks> channels = new HashMap<>();
    private boolean closed;

    /// @param rings the instance that all ranks of the world share
    public LocalTransport(LocalRings rings, int rank) {
        this.rings = rings;
        this.rank = rank;
    }

    @Override
    public synchronized Links open(int id, Liveness liveness) {
        if (closed || channels.containsKey(id)) {
            throw new IllegalStateException(
                    "rank " + rank + " has opened channel " + id + " before");
        }
        LocalLinks links = new LocalLinks(rings.channel(id), rank);
        channels.put(id, links);
        return links;
    }

    @Override
    public synchronized void close() {
        closed = true;
        channels.values().forEach(LocalLinks::close);
    }
}
