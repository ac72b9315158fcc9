package org.horovod4j.collectives;

import org.horovod4j.transport.RegionLayout;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/// Private off-heap memory of this rank, for one collective at a time.
final class ScratchMemory implements AutoCloseable {
    private final MemorySegment notice;
    private Arena arena = Arena.ofShared();
    private MemorySegment piece = MemorySegment.NULL;

    /// @param arena owns the memory of [#notice]
    ScratchMemory(Arena arena) {
        this.notice = arena.allocate(RegionLayout.NOTICE_BYTES, 64);
    }

    /// Memory of the size of a notice.
    MemorySegment notice() {
        return notice;
    }

    /// Memory of at least `byteSize` bytes. It invalidates the segment of an earlier call.
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
