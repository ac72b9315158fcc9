package org.horovod4j.transport;

import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;

/// A message that is being sent.
///
/// The stamp, and as much of the payload as fits, are copied to a buffer and sent from there. The
/// rest of an off-heap payload is sent directly from its memory. A payload on the heap goes through
/// the buffer completely, because the system cannot read heap memory.
///
/// A message that forwards another one sends what has arrived of it so far. If it is empty, it waits
/// for the whole other message: its stamp tells the next rank that this rank has received that
/// message. Without this, a rank that receives only empty messages would not wait for all ranks.
public final class OutgoingMessage {
    private static final long MAX_COPY_BYTES = 64 * 1024;

    /// A message is forwarded in pieces of at least this size: smaller ones would cost more calls,
    /// larger ones would be sent later.
    static final long MIN_FORWARD_BYTES = 16 * 1024;

    private final long number;
    private final Link link;
    private final long stamp;
    private final MemorySegment payload;
    private final long payloadOffset;
    private final long length;

    /// The message that arrives in the payload; null if the whole payload is there.
    private @Nullable IncomingMessage forwarded;

    private final long skipped;

    private boolean stampCopied;

    /// Bytes of the payload that were sent or copied to the buffer.
    private long consumed;

    /// Bytes in the buffer, and how many of these were sent.
    private long filled;

    private long drained;

    /// Whether the link had no room for the next bytes.
    private boolean linkFull;

    /// @param forwarded the message of which this one sends a part; null if there is none
    /// @param skipped how many bytes of `forwarded` precede this part. If negative, the payload
    ///     begins with so many other bytes
    OutgoingMessage(
            long number,
            Link link,
            long stamp,
            MemorySegment payload,
            long offset,
            long length,
            @Nullable IncomingMessage forwarded,
            long skipped) {
        this.number = number;
        this.link = link;
        this.stamp = stamp;
        this.payload = payload;
        this.payloadOffset = offset;
        this.length = length;
        this.forwarded = forwarded;
        this.skipped = skipped;
    }

    /// The number of messages that were started before.
    long number() {
        return number;
    }

    /// Sends as much as the link accepts.
    ///
    /// @param buffer of the size of a stamp and [PointToPoint#BUFFER_BYTES]; the same in all calls,
    ///     and used by no other message until this one is done
    /// @return whether any byte was sent
    boolean step(MemorySegment buffer) {
        linkFull = false;
        if (drained == filled) {
            long ready = arrived() - consumed;
            boolean isTooEarly = length == 0 && forwarded != null;
            if (isTooEarly || ready < Math.min(length - consumed, MIN_FORWARD_BYTES)) {
                return false;
            }
            if (stampCopied && payload.isNative()) {
                long count = link.trySend(payload, payloadOffset + consumed, ready);
                consumed += count;
                linkFull = count == 0;
                return count > 0;
            }
            fill(buffer, ready);
        }
        long count = link.trySend(buffer, drained, filled - drained);
        drained += count;
        linkFull = count == 0;
        return count > 0;
    }

    /// Registers the link if the last step found it full.
    void registerWith(LinkParker parker) {
        if (linkFull) {
            parker.wakeOnWritable(link);
        }
    }

    boolean isDone() {
        return stampCopied && consumed == length && drained == filled;
    }

    /// The number of payload bytes that the caller may overwrite.
    long reusableBytes() {
        return consumed;
    }

    /// How many bytes of the payload are there.
    private long arrived() {
        if (forwarded != null && !forwarded.isDone()) {
            return Math.clamp(forwarded.consumed() - skipped, 0, length);
        }
        forwarded = null; // or each message would keep all earlier ones
        return length;
    }

    private void fill(MemorySegment buffer, long ready) {
        long start = 0;
        if (!stampCopied) {
            buffer.set(PointToPoint.STAMP, 0, stamp);
            start = PointToPoint.STAMP_BYTES;
            stampCopied = true;
        }
        long count = Math.min(ready, MAX_COPY_BYTES);
        MemorySegment.copy(payload, payloadOffset + consumed, buffer, start, count);
        consumed += count;
        filled = start + count;
        drained = 0;
    }
}
