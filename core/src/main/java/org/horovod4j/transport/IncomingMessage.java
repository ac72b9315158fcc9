package org.horovod4j.transport;

import java.lang.foreign.MemorySegment;

/// A message on its way in.
final class IncomingMessage {
    private final MemorySegment window;
    private Link link = NullLink.INSTANCE;
    private MessageSink messageSink = MessageSink.into(MemorySegment.NULL, 0, 0);
    private long stamp;

    /// Bytes of the payload that the sink has.
    private long consumed;

    /// Bytes in the window, the stamp included while it is the first.
    private long filled;

    private boolean stampRead;

    IncomingMessage(MemorySegment window) {
        this.window = window;
    }

    void begin(Link link, long stamp, MessageSink messageSink) {
        this.link = link;
        this.stamp = stamp;
        this.messageSink = messageSink;
        this.consumed = 0;
        this.filled = 0;
        this.stampRead = false;
    }

    /// Takes what has come.
    ///
    /// @return whether anything moved
    boolean step() {
        MemorySegment direct = stampRead && filled == 0 ? messageSink.direct() : null;
        return direct == null ? stepThroughWindow() : stepDirect(direct);
    }

    boolean isDone() {
        return stampRead && consumed == messageSink.length();
    }

    private boolean stepDirect(MemorySegment direct) {
        long count =
                link.tryReceive(
                        direct,
                        messageSink.directOffset() + consumed,
                        messageSink.length() - consumed);
        consumed += count;
        return count > 0;
    }

    private boolean stepThroughWindow() {
        long start = stampRead ? 0 : PointToPoint.STAMP_BYTES;
        long wanted = Math.min(window.byteSize(), start + messageSink.length() - consumed);
        long count = filled == wanted ? 0 : link.tryReceive(window, filled, wanted - filled);
        filled += count;
        if (filled < start) {
            return count > 0;
        }
        if (!stampRead && window.get(PointToPoint.STAMP, 0) != stamp) {
            throw new StampMismatchException(link.peer());
        }
        return drain(start) || count > 0;
    }

    /// Gives the sink what it may have, and moves the rest to the window's start.
    private boolean drain(long start) {
        long available = Math.min(filled - start, messageSink.limit() - consumed);
        boolean last = consumed + available == messageSink.length();
        long count = last ? available : available - available % messageSink.granularity();
        if (count > 0) {
            messageSink.accept(window, start, consumed, count);
            consumed += count;
        }
        if (count > 0 || !stampRead) {
            long rest = filled - start - count;
            MemorySegment.copy(window, start + count, window, 0, rest);
            filled = rest;
        }
        stampRead = true;
        return count > 0;
    }
}
