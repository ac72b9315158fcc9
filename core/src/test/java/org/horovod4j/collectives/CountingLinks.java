package org.horovod4j.collectives;

import org.horovod4j.transport.Link;
import org.horovod4j.transport.Links;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicLong;

/// Links that count the bytes that a rank sends. They can simulate links with a latency.
final class CountingLinks implements Links {
    /// What ranks exchange before the data, to compare stamps.
    private static final long FIRST_BYTES = 1024;

    private final Links links;
    private final AtomicLong sent;
    private final Latency latency;
    private long received;

    /// Links on which bytes take as long as the rank needs to send others. The rank receives a byte
    /// only after it has sent as many bytes, and `inFlight` more. A rank that has sent everything
    /// receives the rest.
    ///
    /// @param inFlight the bytes in flight in one direction; 0 without latency
    /// @param total how many bytes the rank sends in the test, or slightly less
    record Latency(long inFlight, long total) {
        static final Latency NONE = new Latency(0, 0);
    }

    /// @param sent incremented by each link
    CountingLinks(Links links, AtomicLong sent, Latency latency) {
        this.links = links;
        this.sent = sent;
        this.latency = latency;
    }

    @Override
    public Link link(int peer) {
        return new CountingLink(links.link(peer));
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

    /// How many bytes have arrived at most.
    private long arrived() {
        return sent.get() >= latency.total
                ? Long.MAX_VALUE
                : Math.max(FIRST_BYTES, sent.get() - latency.inFlight);
    }

    private final class CountingLink implements Link {
        private final Link link;

        CountingLink(Link link) {
            this.link = link;
        }

        @Override
        public int peer() {
            return link.peer();
        }

        @Override
        public long trySend(MemorySegment segment, long offset, long length) {
            long count = link.trySend(segment, offset, length);
            long _ = sent.addAndGet(count);
            return count;
        }

        @Override
        public long tryReceive(MemorySegment segment, long offset, long length) {
            long limit = Math.min(length, arrived() - received);
            long count = limit <= 0 ? 0 : link.tryReceive(segment, offset, limit);
            received += count;
            return count;
        }

        @Override
        public void close() {
            link.close();
        }
    }
}
