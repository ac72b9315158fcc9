package org.horovod4j.transport;

import java.lang.foreign.MemorySegment;

/// A message that is being sent.
///
/// The stamp, and as much of the payload as fits, are copied to a buffer and sent from there. The
/// rest of an off-heap payload is sent directly from its memory. A payload on the heap goes through
/// the buffer completely, because the system cannot read heap memory.
final class OutgoingMessage {
    private static final long MAX_COPY_BYTES = 64 * 1024;

    private final MemorySegment buffer;
    private Link link = PointToPoint.NullLink.INSTANCE;
    private MemorySegment payload = MemorySegment.NULL;
    private long payloadOffset;
    private long length;

    /// Bytes of the payload that were sent or copied to the buffer.
    private long consumed;

    /// Bytes in the buffer, and how many of these were sent.
    private long filled;

    private long drained;

    OutgoingMessage(MemorySegment buffer) {
        this.buffer = buffer;
    }

    void begin(Link link, long stamp, MemorySegment payload, long offset, long length) {
        this.link = link;
        this.payload = payload;
        this.payloadOffset = offset;
        this.length = length;
        this.consumed = 0;
        buffer.set(PointToPoint.STAMP, 0, stamp);
        fill(PointToPoint.STAMP_BYTES);
    }

    /// Sends as much as the link accepts.
    ///
    /// @return whether any byte was sent
    boolean step() {
        if (drained < filled) {
            long count = link.trySend(buffer, drained, filled - drained);
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

    /// The number of payload bytes that the caller may overwrite.
    long reusableBytes() {
        return consumed;
    }

    private void fill(long start) {
        long count = Math.min(length - consumed, MAX_COPY_BYTES);
        MemorySegment.copy(payload, payloadOffset + consumed, buffer, start, count);
        consumed += count;
        filled = start + count;
        drained = 0;
    }
}
