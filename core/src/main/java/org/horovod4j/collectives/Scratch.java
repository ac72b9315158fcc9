package org.horovod4j.collectives;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import org.horovod4j.transport.Region;

/// Memory of this rank's own, outside the heap, for one operation at a time.
final class Scratch {
    private static final long LINK_BYTES = 64 * 1024;

    private final MemorySegment notice;
    private final MemorySegment link;

    Scratch(Arena arena) {
        this.notice = arena.allocate(Region.NOTICE_BYTES, 64);
        this.link = arena.allocate(LINK_BYTES, 64);
    }

    /// As much as a notice holds.
    MemorySegment notice() {
        return notice;
    }

    /// As much as is combined at a time: it stays in the cache beside what it is combined with.
    MemorySegment link() {
        return link;
    }
}
