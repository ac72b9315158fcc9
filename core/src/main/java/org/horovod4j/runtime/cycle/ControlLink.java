package org.horovod4j.runtime.cycle;

import org.horovod4j.HorovodException;
import org.horovod4j.transport.Link;
import org.horovod4j.transport.LinkParker;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/// Control messages over a link, each preceded by its length. No method waits.
final class ControlLink {
    private static final ValueLayout.OfInt LENGTH = ValueLayout.JAVA_INT_UNALIGNED;
    private static final long FIRST_BYTES = 4 * 1024;
    private static final int MAX_MESSAGE = 1 << 28;

    private final Link link;
    private MemorySegment outgoing = Arena.ofAuto().allocate(FIRST_BYTES);
    private MemorySegment incoming = Arena.ofAuto().allocate(FIRST_BYTES);

    /// Bytes that are written but not sent are between these.
    private long sent;

    private long written;

    /// Bytes that are received but not read are between these.
    private long read;

    private long received;
    private boolean silenced;
    private boolean closed;

    ControlLink(Link link) {
        this.link = link;
    }

    /// Drops all further writes. Messages of the other rank can still be read.
    void silence() {
        silenced = true;
    }

    /// Drops all further writes and reads.
    void close() {
        silenced = true;
        closed = true;
    }

    boolean isClosed() {
        return closed;
    }

    /// Registers the link for bytes of the other rank, and for room if bytes are not sent yet.
    void registerWith(LinkParker parker) {
        if (!closed) {
            parker.wakeOnReadable(link);
        }
        wakeOnWritable(parker);
    }

    /// Waits for room if bytes are not sent yet.
    void wakeOnWritable(LinkParker parker) {
        if (!silenced && sent < written) {
            parker.wakeOnWritable(link);
        }
    }

    /// Queues a message.
    void write(byte[] message) {
        if (silenced) {
            return;
        }
        long bytes = Integer.BYTES + (long) message.length;
        if (sent == written) {
            sent = 0;
            written = 0;
        }
        if (written + bytes > outgoing.byteSize()) {
            outgoing = moved(outgoing, sent, written, bytes);
            written -= sent;
            sent = 0;
        }
        outgoing.set(LENGTH, written, message.length);
        MemorySegment.copy(
                message,
                0,
                outgoing,
                ValueLayout.JAVA_BYTE,
                written + Integer.BYTES,
                message.length);
        written += bytes;
    }

    /// Sends as many bytes as the link accepts.
    ///
    /// @return whether all bytes are sent
    boolean flush() {
        if (silenced) {
            return true;
        }
        if (sent < written) {
            sent += link.trySend(outgoing, sent, written - sent);
        }
        return sent == written;
    }

    /// The next message, or null if none is complete.
    byte @Nullable [] poll() {
        byte[] message = take();
        if (message == null && fill()) {
            message = take();
        }
        return message;
    }

    private boolean fill() {
        if (read == received) {
            read = 0;
            received = 0;
        }
        long wanted = Integer.BYTES + (long) (has(Integer.BYTES) ? length() : 0);
        if (read + Math.max(wanted, FIRST_BYTES / 2) > incoming.byteSize()) {
            incoming = moved(incoming, read, received, Math.max(wanted, FIRST_BYTES));
            received -= read;
            read = 0;
        }
        long count = link.tryReceive(incoming, received, incoming.byteSize() - received);
        received += count;
        return count > 0;
    }

    private byte @Nullable [] take() {
        if (!has(Integer.BYTES) || !has(Integer.BYTES + (long) length())) {
            return null;
        }
        byte[] message = new byte[length()];
        MemorySegment.copy(
                incoming, ValueLayout.JAVA_BYTE, read + Integer.BYTES, message, 0, message.length);
        read += Integer.BYTES + message.length;
        return message;
    }

    private boolean has(long bytes) {
        return received - read >= bytes;
    }

    private int length() {
        int length = incoming.get(LENGTH, read);
        if (length < 0 || length > MAX_MESSAGE) {
            throw new HorovodException(
                    "rank %d sent a control message of %d bytes: use one version of Horovod4J on every rank"
                            .formatted(link.peer(), length));
        }
        return length;
    }

    /// Moves the bytes from `start` to `end` to the beginning of memory with room for `more`.
    private static MemorySegment moved(MemorySegment memory, long start, long end, long more) {
        long needed = end - start + more;
        MemorySegment target =
                needed <= memory.byteSize()
                        ? memory
                        : Arena.ofAuto().allocate(Math.max(needed, 2 * memory.byteSize()));
        MemorySegment.copy(memory, start, target, 0, end - start);
        return target;
    }
}
