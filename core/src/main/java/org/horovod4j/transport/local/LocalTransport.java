package org.horovod4j.transport.local;

import org.horovod4j.transport.LinkTransport;
import org.horovod4j.transport.Links;
import org.horovod4j.transport.Liveness;

import java.util.HashMap;
import java.util.Map;

/// The channels of a rank whose peers are in the same JVM.
public final class LocalTransport implements LinkTransport {
    private final LocalPipes pipes;
    private final int rank;
    private final Map<Integer, LocalLinks> channels = new HashMap<>();
    private boolean closed;

    /// @param pipes the instance that all ranks of the world share
    public LocalTransport(LocalPipes pipes, int rank) {
        this.pipes = pipes;
        this.rank = rank;
    }

    @Override
    public synchronized Links open(int id, Liveness liveness) {
        if (closed || channels.containsKey(id)) {
            throw new IllegalStateException(
                    "rank " + rank + " has opened channel " + id + " before");
        }
        LocalLinks links = new LocalLinks(pipes.channel(id), rank);
        channels.put(id, links);
        return links;
    }

    @Override
    public synchronized void close() {
        closed = true;
        channels.values().forEach(LocalLinks::close);
    }
}
