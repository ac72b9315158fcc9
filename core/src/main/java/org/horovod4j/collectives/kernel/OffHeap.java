package org.horovod4j.collectives.kernel;

import java.lang.foreign.MemorySegment;

/// Tells the compiler that a segment is off-heap.
///
/// The Vector API reads the base of every segment with a virtual call. The compiler resolves the
/// call by the classes it has seen there, in the whole program. Once both allocated and mapped
/// memory were used, it repeats the call for each vector, and a loop takes up to five times as
/// long. Both kinds of memory have the same class, that of `NULL`. After a cast to this class they
/// share one call target. The check does not depend on the loop, so the compiler moves it out.
final class OffHeap {
    private static final Class<? extends MemorySegment> OFF_HEAP = MemorySegment.NULL.getClass();

    private OffHeap() {}

    /// The same segment. Heap segments work too, at the cost described above.
    static MemorySegment cast(MemorySegment segment) {
        return OFF_HEAP.isInstance(segment) ? OFF_HEAP.cast(segment) : segment;
    }
}
