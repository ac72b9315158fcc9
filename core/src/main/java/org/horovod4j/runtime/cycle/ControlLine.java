package org.horovod4j.runtime.cycle;

import org.horovod4j.HorovodException;
import org.horovod4j.transport.Link;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/// Control messages over a link, each after its length. Nothing here waits.
final class ControlLine {
    private static final ValueLayout.OfInt LENGTH = ValueLayout.JAVA_INT_UNALIGNED;
    private static final long FIRST_BYTES = 4 * 1024;
    private static final int MAX_MESSAGE = 1 << 28;

    private final Link link;
    private MemorySegment outgoing = Arena.ofAuto().allocate(FIRST_BYTES);
    private MemorySegment incoming = Arena.ofAuto().allocate(FIRST_BYTES);

    /// What is written and not yet sent lies between these.
    private long sent;

    private long written;

    /// What has come and was not yet read lies between these.
    private long read;

    private long received;
    private boolean mute;
    private boolean closed;

    ControlLine(Link link) {
        this.link = link;
    }

    /// Says nothing more; what the other end has said can still be read.
    void silence() {
        mute = true;
    }

    /// Says and hears nothing more.
    void close() {
        mute = true;
        closed = true;
    }

    boolean isClosed() {
        return closed;
    }

    /// Puts a message behind those not yet sent.
    void write(byte[] message) {
        if (mute) {
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

    /// Sends what the link takes.
    ///
    /// @return whether all is sent
    boolean flush() {
        if (mute) {
            return true;
        }
        if (sent < written) {
            sent += link.trySend(outgoing, sent, written - sent);
        }
        return sent == written;
    }

    /// The next message, or null when none is there in full.
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

    /// The bytes from `start` to `end`, at the beginning of memory that has room for `more`.
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
