package org.horovod4j.transport.local;

import org.horovod4j.transport.Link;
import org.horovod4j.transport.LinkBrokenException;
import org.horovod4j.transport.Links;

import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;

/// Links between ranks of one JVM: a [Pipe] each way.
final class LocalLinks implements Links {
    /// The epoch of a closed channel.
    private static final int CLOSED_EPOCH = Integer.MAX_VALUE;

    private final LocalPipes.ChannelPipes pipes;
    private final int rank;
    private final Map<Integer, LocalLink> links = new HashMap<>();
    private int epoch;

    LocalLinks(LocalPipes.ChannelPipes pipes, int rank) {
        this.pipes = pipes;
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
                        new LocalLink(
                                peer,
                                pipes.pipe(rank, peer, epoch),
                                pipes.pipe(peer, rank, epoch)));
    }

    @Override
    public synchronized void reset() {
        advance(epoch + 1);
    }

    /// Ignored: a link is always one pair of pipes.
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
            pipes.advance(rank, next);
        }
    }

    private record LocalLink(int peer, Pipe out, Pipe in) implements Link {
        @Override
        public long trySend(MemorySegment segment, long offset, long length) {
            if (out.isClosed()) {
                throw closed();
            }
            return out.write(segment, offset, length);
        }

        @Override
        public long tryReceive(MemorySegment segment, long offset, long length) {
            boolean closed = in.isClosed(); // read first: bytes may be written before the close
            long count = in.read(segment, offset, length);
            if (count == 0 && closed && length > 0) {
                throw closed();
            }
            return count;
        }

        @Override
        public void close() {
            out.close();
            in.close();
        }

        private LinkBrokenException closed() {
            return new LinkBrokenException(peer, "rank " + peer + " has closed its link", null);
        }
    }
}
