package org.horovod4j.transport;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;

/// A message that is being received.
public final class IncomingMessage {
    private final long number;
    private final Link link;
    private final long stamp;
    private final MessageSink sink;

    /// The message whose payload the sink overwrites; null if there is none.
    private final @Nullable OutgoingMessage overwritten;

    /// Bytes of the payload that the sink has taken.
    private long consumed;

    /// Bytes in the buffer, including the stamp until it has been read.
    private long filled;

    private boolean stampRead;

    /// Whether the link had no bytes.
    private boolean linkEmpty;

    IncomingMessage(
            long number,
            Link link,
            long stamp,
            MessageSink sink,
            @Nullable OutgoingMessage overwritten) {
        this.number = number;
        this.link = link;
        this.stamp = stamp;
        this.sink = sink;
        this.overwritten = overwritten;
    }

    /// The number of messages that were started before.
    long number() {
        return number;
    }

    /// Receives the bytes that are available.
    ///
    /// @param buffer of the size of a stamp and [PointToPoint#BUFFER_BYTES]; the same in all calls,
    ///     and used by no other message until this one is done
    /// @return whether any byte was received
    boolean step(MemorySegment buffer) {
        boolean hasDirect = stampRead && filled == 0 && overwritten == null;
        MemorySegment direct = hasDirect ? sink.direct() : null;
        return direct == null ? stepThroughBuffer(buffer) : stepDirect(direct);
    }

    /// Registers the link if the last step found it empty.
    void registerWith(LinkParker parker) {
        if (linkEmpty) {
            parker.wakeOnReadable(link);
        }
    }

    boolean isDone() {
        return stampRead && consumed == sink.length();
    }

    /// Bytes of the payload that the sink has taken.
    long consumed() {
        return consumed;
    }

    private boolean stepDirect(MemorySegment direct) {
        long count =
                link.tryReceive(direct, sink.directOffset() + consumed, sink.length() - consumed);
        consumed += count;
        linkEmpty = count == 0;
        return count > 0;
    }

    private boolean stepThroughBuffer(MemorySegment buffer) {
        long start = stampRead ? 0 : PointToPoint.STAMP_BYTES;
        long bufferLimit = Math.min(buffer.byteSize(), start + sink.length() - consumed);
        boolean isFull = filled == bufferLimit;
        long count = isFull ? 0 : link.tryReceive(buffer, filled, bufferLimit - filled);
        linkEmpty = !isFull && count == 0;
        filled += count;
        if (filled < start) {
            return count > 0;
        }
        if (!stampRead && buffer.get(PointToPoint.STAMP, 0) != stamp) {
            throw new StampMismatchException(link.peer());
        }
        return drain(buffer, start) || count > 0;
    }

    /// Passes to the sink as much as it accepts, and moves the rest to the start of the buffer.
    private boolean drain(MemorySegment buffer, long start) {
        long limit = overwritten == null ? sink.length() : overwritten.reusableBytes();
        long available = Math.min(filled - start, limit - consumed);
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
