package org.horovod4j.transport.local;

import org.horovod4j.transport.Link;
import org.horovod4j.transport.LinkBrokenException;
import org.horovod4j.transport.Links;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/// Links between ranks of one JVM: a [Pipe] each way.
public final class LocalLinks implements Links {
    private final Exchange exchange;
    private final int rank;
    private final Map<Integer, LocalLink> open = new ConcurrentHashMap<>();
    private int epoch;

    public LocalLinks(Exchange exchange, int rank) {
        this.exchange = exchange;
        this.rank = rank;
    }

    @Override
    public Link link(int peer) {
        return open.computeIfAbsent(
                peer,
                _ ->
                        new LocalLink(
                                peer,
                                exchange.pipe(rank, peer, epoch),
                                exchange.pipe(peer, rank, epoch)));
    }

    @Override
    public void reset() {
        close();
        epoch++;
    }

    @Override
    public void close() {
        List<LocalLink> closing = new ArrayList<>(open.values());
        open.clear();
        closing.forEach(LocalLink::close);
    }

    /// Where the ranks of one world find their pipes.
    public static final class Exchange {
        private final Map<Direction, Pipe> pipes = new ConcurrentHashMap<>();

        Pipe pipe(int source, int target, int epoch) {
            return pipes.computeIfAbsent(new Direction(source, target, epoch), _ -> new Pipe());
        }

        private record Direction(int source, int target, int epoch) {}
    }

    private record LocalLink(int peer, Pipe out, Pipe in) implements Link {
        @Override
        public long trySend(MemorySegment segment, long offset, long length) {
            if (out.isClosed()) {
                throw new LinkBrokenException(peer, "rank " + peer + " has closed its link", null);
            }
            return out.write(segment, offset, length);
        }

        @Override
        public long tryReceive(MemorySegment segment, long offset, long length) {
            boolean closed = in.isClosed();
            long count = in.read(segment, offset, length);
            if (count == 0 && closed && length > 0) {
                throw new LinkBrokenException(peer, "rank " + peer + " has closed its link", null);
            }
            return count;
        }

        @Override
        public void close() {
            out.close();
            in.close();
        }
    }
}
