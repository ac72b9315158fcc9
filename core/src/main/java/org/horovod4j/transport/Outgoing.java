package org.horovod4j.transport;

import java.lang.foreign.MemorySegment;

/// A message on its way out.
final class Outgoing {
    private static final long COALESCED = 64 * 1024;

    private final MemorySegment window;
    private Link link = Unlinked.INSTANCE;
    private MemorySegment payload = MemorySegment.NULL;
    private long payloadOffset;
    private long length;
    /// Bytes of the window that hold the stamp and the start of the payload.
    private long head;
    /// Bytes sent, the stamp included.
    private long position;

    Outgoing(MemorySegment window) {
        this.window = window;
    }

    void begin(Link link, long stamp, MemorySegment payload, long offset, long length) {
        this.link = link;
        this.payload = payload;
        this.payloadOffset = offset;
        this.length = length;
        this.position = 0;
        long coalesced = Math.min(length, COALESCED);
        this.head = Wire.STAMP_BYTES + coalesced;
        window.set(Wire.STAMP, 0, stamp);
        MemorySegment.copy(payload, offset, window, Wire.STAMP_BYTES, coalesced);
    }

    /// Sends what the link takes.
    ///
    /// @return whether anything moved
    boolean step() {
        long before = position;
        if (position < head) {
            position += link.trySend(window, position, head - position);
        }
        if (position >= head && !isDone()) {
            long sent = sent();
            position += link.trySend(payload, payloadOffset + sent, length - sent);
        }
        return position > before;
    }

    boolean isDone() {
        return position == Wire.STAMP_BYTES + length;
    }

    /// Bytes of the payload that may be overwritten: those sent or copied to the window.
    long sent() {
        return position < head ? head - Wire.STAMP_BYTES : position - Wire.STAMP_BYTES;
    }
}
