package org.horovod4j.transport.local;

import org.horovod4j.transport.Link;
import org.horovod4j.transport.LinkBrokenException;
import org.horovod4j.transport.Links;

import java.lang.foreign.MemorySegment;
import java.util.HashMap;
import java.util.Map;

/// Links between ranks of one JVM: a [Pipe] each way.
final class LocalLinks implements Links {
    /// After the last epoch: of a channel that is closed.
    private static final int NEVER = Integer.MAX_VALUE;

    private final PipeRack rack;
    private final int rank;
    private final Map<Integer, LocalLink> open = new HashMap<>();
    private int epoch;

    LocalLinks(PipeRack rack, int rank) {
        this.rack = rack;
        this.rank = rank;
    }

    @Override
    public synchronized Link link(int peer) {
        if (epoch == NEVER) {
            throw new LinkBrokenException(peer, "rank " + rank + " has closed the channel", null);
        }
        return open.computeIfAbsent(
                peer,
                _ ->
                        new LocalLink(
                                peer, rack.pipe(rank, peer, epoch), rack.pipe(peer, rank, epoch)));
    }

    @Override
    public synchronized void reset() {
        advance(epoch + 1);
    }

    /// A pipe is a pipe: there is nothing to choose.
    @Override
    public void useStreams(int streams) {}

    @Override
    public synchronized void close() {
        advance(NEVER);
    }

    private void advance(int next) {
        if (epoch < next) {
            epoch = next;
            open.clear();
            rack.advance(rank, next);
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
            boolean closed = in.isClosed(); // asked first, as more may be written before the close
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
