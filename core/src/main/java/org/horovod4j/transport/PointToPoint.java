package org.horovod4j.transport;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/// Stamped messages over links, sent and received at the same time.
///
/// A message is the stamp of its operation and then the payload, whose length both ends know. A
/// short message travels with its stamp in one piece.
public final class PointToPoint implements AutoCloseable {
    /// How much of a message is read before it is used: part of a level-2 cache.
    static final int WINDOW_BYTES = 256 * 1024;

    static final int STAMP_BYTES = Long.BYTES;
    static final ValueLayout.OfLong STAMP = ValueLayout.JAVA_LONG_UNALIGNED;

    private final Links links;
    private final IdleStrategy idleStrategy;
    private final Arena arena = Arena.ofShared();
    private final OutgoingMessage outgoingMessage =
            new OutgoingMessage(arena.allocate(STAMP_BYTES + WINDOW_BYTES, 64));
    private final IncomingMessage incomingMessage =
            new IncomingMessage(arena.allocate(STAMP_BYTES + WINDOW_BYTES, 64));
    private long stamp;

    public PointToPoint(Links links, IdleStrategy idleStrategy) {
        this.links = links;
        this.idleStrategy = idleStrategy;
    }

    /// Begins an operation: all messages up to the next call carry its stamp.
    public void begin(long stamp) {
        this.stamp = stamp;
    }

    /// Sends a message to one peer while receiving one, perhaps from another.
    public void exchange(
            int target,
            MemorySegment out,
            long outOffset,
            long outLength,
            int source,
            MessageSink messageSink) {
        outgoingMessage.begin(links.link(target), stamp, out, outOffset, outLength);
        incomingMessage.begin(links.link(source), stamp, messageSink);
        run(true, true);
    }

    public void send(int target, MemorySegment out, long outOffset, long outLength) {
        outgoingMessage.begin(links.link(target), stamp, out, outOffset, outLength);
        run(true, false);
    }

    public void receive(int source, MessageSink messageSink) {
        incomingMessage.begin(links.link(source), stamp, messageSink);
        run(false, true);
    }

    /// How many bytes of the payload now being sent are no longer needed: a sink may overwrite
    /// these.
    public long reusableBytes() {
        return outgoingMessage.reusableBytes();
    }

    /// Chooses how many connections a link has that is opened after the next [#reset]; see [Links].
    public void useStreams(int streams) {
        links.useStreams(streams);
    }

    /// Drops everything under way, on all ranks together.
    public void reset() {
        links.reset();
    }

    @Override
    public void close() {
        links.close();
        arena.close();
    }

    private void run(boolean sending, boolean receiving) {
        idleStrategy.reset();
        while (sending || receiving) {
            boolean moved = false;
            if (sending) {
                moved = outgoingMessage.step();
                sending = !outgoingMessage.isDone();
            }
            if (receiving) {
                moved |= incomingMessage.step();
                receiving = !incomingMessage.isDone();
            }
            if (moved) {
                idleStrategy.reset();
            } else {
                idleStrategy.idle();
            }
        }
    }
}
