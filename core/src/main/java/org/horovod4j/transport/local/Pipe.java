package org.horovod4j.transport.local;

import java.lang.foreign.MemorySegment;

/// A ring buffer of bytes with one writer and one reader.
final class Pipe {
    private static final int CAPACITY = 64 * 1024;

    private final MemorySegment ring = MemorySegment.ofArray(new byte[CAPACITY]);
    private volatile long written;
    private volatile long read;
    private volatile boolean closed;

    long write(MemorySegment source, long offset, long length) {
        long start = written;
        long count = Math.min(length, CAPACITY - (start - read));
        for (long done = 0; done < count; ) {
            long at = (start + done) % CAPACITY;
            long piece = Math.min(count - done, CAPACITY - at);
            MemorySegment.copy(source, offset + done, ring, at, piece);
            done += piece;
        }
        written = start + count;
        return count;
    }

    long read(MemorySegment target, long offset, long length) {
        long start = read;
        long count = Math.min(length, written - start);
        for (long done = 0; done < count; ) {
            long at = (start + done) % CAPACITY;
            long piece = Math.min(count - done, CAPACITY - at);
            MemorySegment.copy(ring, at, target, offset + done, piece);
            done += piece;
        }
        read = start + count;
        return count;
    }

    boolean isClosed() {
        return closed;
    }

    void close() {
        closed = true;
    }
}
