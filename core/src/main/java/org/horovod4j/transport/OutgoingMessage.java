package org.horovod4j.transport;

import java.lang.foreign.MemorySegment;

/// A message on its way out.
///
/// It goes through a window: always its stamp and what fits beside it, and all of it when it comes
/// from the heap, which the system cannot read. The rest of other payloads goes straight from where
/// it is.
final class OutgoingMessage {
    private static final long MAX_COPY_BYTES = 64 * 1024;

    private final MemorySegment window;
    private Link link = NullLink.INSTANCE;
    private MemorySegment payload = MemorySegment.NULL;
    private long payloadOffset;
    private long length;

    /// Bytes of the payload that were sent or copied to the window.
    private long consumed;

    /// What the window holds, and how much of that was sent.
    private long filled;

    private long drained;

    OutgoingMessage(MemorySegment window) {
        this.window = window;
    }

    void begin(Link link, long stamp, MemorySegment payload, long offset, long length) {
        this.link = link;
        this.payload = payload;
        this.payloadOffset = offset;
        this.length = length;
        this.consumed = 0;
        window.set(PointToPoint.STAMP, 0, stamp);
        fill(PointToPoint.STAMP_BYTES);
    }

    /// Sends what the link takes.
    ///
    /// @return whether anything moved
    boolean step() {
        if (drained < filled) {
            long count = link.trySend(window, drained, filled - drained);
            drained += count;
            if (drained < filled || consumed == length) {
                return count > 0;
            }
        }
        if (!payload.isNative()) {
            fill(0);
            return true;
        }
        long count = link.trySend(payload, payloadOffset + consumed, length - consumed);
        consumed += count;
        return count > 0;
    }

    boolean isDone() {
        return consumed == length && drained == filled;
    }

    /// Bytes of the payload that may be overwritten.
    long reusableBytes() {
        return consumed;
    }

    private void fill(long start) {
        long count = Math.min(length - consumed, MAX_COPY_BYTES);
        MemorySegment.copy(payload, payloadOffset + consumed, window, start, count);
        consumed += count;
        filled = start + count;
        drained = 0;
    }
}
