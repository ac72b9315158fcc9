package org.horovod4j.collectives;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.horovod4j.transport.Region;

/// Memory of this rank's own, outside the heap, for one operation at a time.
final class Scratch {
    /// Pieces of this size are large enough for links and small enough to keep around.
    static final long LARGE_BYTES = 4 * 1024 * 1024;

    private final Arena arena;
    private final MemorySegment small;
    private MemorySegment large = MemorySegment.NULL;

    Scratch(Arena arena) {
        this.arena = arena;
        this.small = arena.allocate(Region.NOTICE_BYTES, 64);
    }

    /// As much as a notice holds.
    MemorySegment small() {
        return small;
    }

    /// [#LARGE_BYTES], allocated when first needed.
    MemorySegment large() {
        if (large.byteSize() == 0) {
            large = arena.allocate(LARGE_BYTES, 64);
        }
        return large;
    }
}
