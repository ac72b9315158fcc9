package org.horovod4j.transport;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayDeque;
import java.util.Queue;

/// A loopback link that transfers only a few bytes at a time.
final class PartialTransferLink implements Link {
    private final Queue<Byte> bytes = new ArrayDeque<>();
    private final int maxBytes;

    PartialTransferLink(int maxBytes) {
        this.maxBytes = maxBytes;
    }

    @Override
    public int peer() {
        return 7;
    }

    @Override
    public long trySend(MemorySegment segment, long offset, long length) {
        long count = Math.min(maxBytes, length);
        for (long i = 0; i < count; i++) {
            bytes.add(segment.get(ValueLayout.JAVA_BYTE, offset + i));
        }
        return count;
    }

    @Override
    public long tryReceive(MemorySegment segment, long offset, long length) {
        long count = Math.min(Math.min(maxBytes, length), bytes.size());
        for (long i = 0; i < count; i++) {
            segment.set(ValueLayout.JAVA_BYTE, offset + i, bytes.remove());
        }
        return count;
    }

    @Override
    public void close() {}
}
