package org.horovod4j.collectives.kernel;

import java.lang.foreign.MemorySegment;

/// Tells the compiler that a segment lies outside the heap.
///
/// The Vector API asks every segment for its base, which is a virtual call. The compiler resolves
/// it by the classes it has seen there before, in the whole program: as soon as both allocated and
/// mapped memory has passed, it asks again for each vector, and a loop takes up to five times as
/// long. Both are of one class, though, the one that `NULL` has, and known as such they share the
/// answer. The check itself does not depend on the loop and moves in front of it.
final class OffHeap {
    private static final Class<? extends MemorySegment> OFF_HEAP = MemorySegment.NULL.getClass();

    private OffHeap() {}

    /// The same segment. One on the heap works too, at the price above.
    static MemorySegment cast(MemorySegment segment) {
        return OFF_HEAP.isInstance(segment) ? OFF_HEAP.cast(segment) : segment;
    }
}
