package org.horovod4j.collectives;

import org.horovod4j.transport.Link;
import org.horovod4j.transport.Links;

import java.lang.foreign.MemorySegment;
import java.util.concurrent.atomic.AtomicLong;

/// Links that count the bytes that they send.
///
/// @param sent incremented by each link
record CountingLinks(Links links, AtomicLong sent) implements Links {
    @Override
    public Link link(int peer) {
        return new CountingLink(links.link(peer), sent);
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

    private record CountingLink(Link link, AtomicLong sent) implements Link {
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
            return link.tryReceive(segment, offset, length);
        }

        @Override
        public void close() {
            link.close();
        }
    }
}
