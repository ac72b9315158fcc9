package org.horovod4j.collectives;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.horovod4j.transport.Region;

/// Memory of this rank's own, outside the heap, for one operation at a time.
final class Scratch {
    private static final long PIECE_BYTES = 512 * 1024;

    private final MemorySegment notice;
    private final MemorySegment piece;

    Scratch(Arena arena) {
        this.notice = arena.allocate(Region.NOTICE_BYTES, 64);
        this.piece = arena.allocate(PIECE_BYTES, 64);
    }

    /// As much as a notice holds.
    MemorySegment notice() {
        return notice;
    }

    /// As much as is copied at a time: long enough for links, short enough to stay in a cache.
    MemorySegment piece() {
        return piece;
    }
}
