package org.horovod4j.transport;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;

/// A ring buffer of bytes in memory that two ranks share. One of them writes, the other reads.
public final class ByteRing {
    /// How many bytes the ring holds.
    public static final long CAPACITY = 64 * 1024;

    // On two cache lines each: how many bytes were written so far, how many were read, whether the
    // ring is closed.
    private static final long WRITTEN = 0;
    private static final long READ = 128;
    private static final long CLOSED = 256;
    private static final long DATA = 384;

    /// The size of the memory of a ring.
    public static final long BYTES = DATA + CAPACITY;

    private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();

    private final MemorySegment memory;

    /// A ring in `memory`, which was zero before its first use.
    public ByteRing(MemorySegment memory) {
        this.memory = memory;
    }

    /// Writes as many bytes as there is room for.
    ///
    /// @return how many
    public long write(MemorySegment source, long offset, long length) {
        long start = (long) LONG.getOpaque(memory, WRITTEN);
        long room = CAPACITY - (start - (long) LONG.getAcquire(memory, READ));
        long count = Math.min(length, room);
        if (count == 0) {
            return 0;
        }
        for (long done = 0; done < count; ) {
            long at = (start + done) % CAPACITY;
            long piece = Math.min(count - done, CAPACITY - at);
            MemorySegment.copy(source, offset + done, memory, DATA + at, piece);
            done += piece;
        }
        LONG.setRelease(memory, WRITTEN, start + count);
        return count;
    }

    /// Reads as many bytes as there are, and at most `length`.
    ///
    /// @return how many
    public long read(MemorySegment target, long offset, long length) {
        long start = (long) LONG.getOpaque(memory, READ);
        long count = Math.min(length, (long) LONG.getAcquire(memory, WRITTEN) - start);
        if (count == 0) {
            return 0;
        }
        for (long done = 0; done < count; ) {
            long at = (start + done) % CAPACITY;
            long piece = Math.min(count - done, CAPACITY - at);
            MemorySegment.copy(memory, DATA + at, target, offset + done, piece);
            done += piece;
        }
        LONG.setRelease(memory, READ, start + count);
        return count;
    }

    /// Whether there is no room.
    public boolean isFull() {
        return (long) LONG.getAcquire(memory, WRITTEN) - (long) LONG.getAcquire(memory, READ)
                == CAPACITY;
    }

    /// Whether one end has closed the ring. Bytes that were written before can still be read.
    public boolean isClosed() {
        return (long) LONG.getAcquire(memory, CLOSED) != 0;
    }

    /// Closes the ring for both ends.
    public void close() {
        LONG.setRelease(memory, CLOSED, 1L);
    }
}
