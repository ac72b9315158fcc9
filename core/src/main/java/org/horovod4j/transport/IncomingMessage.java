package org.horovod4j.transport;

import java.lang.foreign.MemorySegment;

/// A message that is being received.
final class IncomingMessage {
    private final MemorySegment buffer;
    private Link link = PointToPoint.NullLink.INSTANCE;
    private MessageSink sink = MessageSink.into(MemorySegment.NULL, 0, 0);
    private long stamp;

    /// Bytes of the payload that the sink has taken.
    private long consumed;

    /// Bytes in the buffer, including the stamp until it has been read.
    private long filled;

    private boolean stampRead;

    IncomingMessage(MemorySegment buffer) {
        this.buffer = buffer;
    }

    void begin(Link link, long stamp, MessageSink sink) {
        this.link = link;
        this.stamp = stamp;
        this.sink = sink;
        this.consumed = 0;
        this.filled = 0;
        this.stampRead = false;
    }

    /// Receives the bytes that are available.
    ///
    /// @return whether any byte was received
    boolean step() {
        MemorySegment direct = stampRead && filled == 0 ? sink.direct() : null;
        return direct == null ? stepThroughBuffer() : stepDirect(direct);
    }

    boolean isDone() {
        return stampRead && consumed == sink.length();
    }

    private boolean stepDirect(MemorySegment direct) {
        long count =
                link.tryReceive(direct, sink.directOffset() + consumed, sink.length() - consumed);
        consumed += count;
        return count > 0;
    }

    private boolean stepThroughBuffer() {
        long start = stampRead ? 0 : PointToPoint.STAMP_BYTES;
        long bufferLimit = Math.min(buffer.byteSize(), start + sink.length() - consumed);
        long count =
                filled == bufferLimit ? 0 : link.tryReceive(buffer, filled, bufferLimit - filled);
        filled += count;
        if (filled < start) {
            return count > 0;
        }
        if (!stampRead && buffer.get(PointToPoint.STAMP, 0) != stamp) {
            throw new StampMismatchException(link.peer());
        }
        return drain(start) || count > 0;
    }

    /// Passes to the sink as much as it accepts, and moves the rest to the start of the buffer.
    private boolean drain(long start) {
        long available = Math.min(filled - start, sink.limit() - consumed);
        boolean last = consumed + available == sink.length();
        long count = last ? available : available - available % sink.granularity();
        if (count > 0) {
            sink.accept(buffer, start, consumed, count);
            consumed += count;
        }
        if (count > 0 || !stampRead) {
            long rest = filled - start - count;
            MemorySegment.copy(buffer, start + count, buffer, 0, rest);
            filled = rest;
        }
        stampRead = true;
        return count > 0;
    }
}
