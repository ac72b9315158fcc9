package org.horovod4j.transport;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/// Sends and receives stamped messages over links. It can send and receive at the same time.
///
/// A message is the stamp of its collective followed by the payload. Both ends know the length, so
/// it is not sent. A short payload is sent together with the stamp in one call.
public final class PointToPoint implements AutoCloseable {
    /// The size of the send buffer and of the receive buffer. Both fit into a level-2 cache.
    static final int BUFFER_BYTES = 256 * 1024;

    static final int STAMP_BYTES = Long.BYTES;
    static final ValueLayout.OfLong STAMP = ValueLayout.JAVA_LONG_UNALIGNED;

    private final Links links;
    private final IdleStrategy idleStrategy;
    private final Arena arena = Arena.ofShared();
    private final OutgoingMessage outgoing =
            new OutgoingMessage(arena.allocate(STAMP_BYTES + BUFFER_BYTES, 64));
    private final IncomingMessage incoming =
            new IncomingMessage(arena.allocate(STAMP_BYTES + BUFFER_BYTES, 64));
    private long stamp;

    public PointToPoint(Links links, IdleStrategy idleStrategy) {
        this.links = links;
        this.idleStrategy = idleStrategy;
    }

    /// Starts a collective: all messages until the next call carry `stamp`.
    public void begin(long stamp) {
        this.stamp = stamp;
    }

    /// Sends a message to one peer while receiving a message from the same or another peer.
    public void exchange(
            int target,
            MemorySegment out,
            long outOffset,
            long outLength,
            int source,
            MessageSink sink) {
        outgoing.begin(links.link(target), stamp, out, outOffset, outLength);
        incoming.begin(links.link(source), stamp, sink);
        run(true, true);
    }

    public void send(int target, MemorySegment out, long outOffset, long outLength) {
        outgoing.begin(links.link(target), stamp, out, outOffset, outLength);
        run(true, false);
    }

    public void receive(int source, MessageSink sink) {
        incoming.begin(links.link(source), stamp, sink);
        run(false, true);
    }

    /// The number of bytes at the start of the current outgoing payload that are no longer needed.
    /// A sink may overwrite them.
    public long reusableBytes() {
        return outgoing.reusableBytes();
    }

    /// Sets the number of connections of each link that is opened after the next [#reset]; see
    /// [Links#useStreams].
    public void useStreams(int streams) {
        links.useStreams(streams);
    }

    /// Discards all messages in transit. All ranks call this together.
    public void reset() {
        links.reset();
    }

    @Override
    public void close() {
        links.close();
        arena.close();
    }

    /// Sends and receives until both messages are done.
    private void run(boolean sending, boolean receiving) {
        idleStrategy.reset();
        while (sending || receiving) {
            boolean progress = false;
            if (sending) {
                progress = outgoing.step();
                sending = !outgoing.isDone();
            }
            if (receiving) {
                progress |= incoming.step();
                receiving = !incoming.isDone();
            }
            if (progress) {
                idleStrategy.reset();
            } else {
                idleStrategy.idle();
            }
        }
    }

    /// Stands for the link before a message begins.
    enum NullLink implements Link {
        INSTANCE;

        @Override
        public int peer() {
            return -1;
        }

        @Override
        public long trySend(MemorySegment segment, long offset, long length) {
            return 0;
        }

        @Override
        public long tryReceive(MemorySegment segment, long offset, long length) {
            return 0;
        }

        @Override
        public void close() {}
    }
}
