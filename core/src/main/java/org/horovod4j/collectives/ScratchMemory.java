package org.horovod4j.collectives;

import org.horovod4j.transport.RegionLayout;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/// Private off-heap memory of this rank, for one collective at a time.
final class ScratchMemory implements AutoCloseable {
    private final MemorySegment notice;
    private final Area piece = new Area();
    private final Area wideCopies = new Area();

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
        return piece.ofAtLeast(byteSize);
    }

    /// Memory for [WideAverage], as above. Its collective may use a [#piece] at the same time.
    MemorySegment wideCopies(long byteSize) {
        return wideCopies.ofAtLeast(byteSize);
    }

    @Override
    public void close() {
        piece.arena.close();
        wideCopies.arena.close();
    }

    /// Memory that is kept until more is needed.
    private static final class Area {
        private Arena arena = Arena.ofShared();
        private MemorySegment memory = MemorySegment.NULL;

        MemorySegment ofAtLeast(long byteSize) {
            if (memory.byteSize() < byteSize) {
                arena.close();
                arena = Arena.ofShared();
                memory = arena.allocate(byteSize, 64);
            }
            return memory;
        }
    }
}
