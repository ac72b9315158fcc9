package org.horovod4j.collectives;

import org.horovod4j.transport.RegionLayout;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/// Memory of this rank's own, outside the heap, for one operation at a time.
final class ScratchMemory implements AutoCloseable {
    private final MemorySegment notice;
    private Arena arena = Arena.ofShared();
    private MemorySegment piece = MemorySegment.NULL;

    /// @param arena of what is always there
    ScratchMemory(Arena arena) {
        this.notice = arena.allocate(RegionLayout.NOTICE_BYTES, 64);
    }

    /// As much as a notice holds.
    MemorySegment notice() {
        return notice;
    }

    /// At least as much as asked for; the last piece is gone.
    MemorySegment piece(long byteSize) {
        if (piece.byteSize() < byteSize) {
            arena.close();
            arena = Arena.ofShared();
            piece = arena.allocate(byteSize, 64);
        }
        return piece;
    }

    @Override
    public void close() {
        arena.close();
    }
}
