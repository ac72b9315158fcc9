package org.horovod4j.transport;

import java.lang.foreign.MemorySegment;

/// A link to a rank that shares memory with this rank: a [ByteRing] each way.
///
/// @param peer the rank at the other end, as a job rank
/// @param wakePeer called after bytes were written, and after bytes were read from a full ring
public record RingLink(int peer, ByteRing out, ByteRing in, Runnable wakePeer) implements Link {
    @Override
    public long trySend(MemorySegment segment, long offset, long length) {
        if (out.isClosed()) {
            throw closed();
        }
        long count = out.write(segment, offset, length);
        if (count > 0) {
            wakePeer.run();
        }
        return count;
    }

    @Override
    public long tryReceive(MemorySegment segment, long offset, long length) {
        boolean closed = in.isClosed(); // read first: bytes may be written before the close
        boolean full = in.isFull();
        long count = in.read(segment, offset, length);
        if (full) {
            wakePeer.run();
        }
        if (count == 0 && closed && length > 0) {
            throw closed();
        }
        return count;
    }

    @Override
    public void close() {
        out.close();
        in.close();
    }

    private LinkBrokenException closed() {
        return new LinkBrokenException(peer, "rank " + peer + " has closed its link", null);
    }
}
