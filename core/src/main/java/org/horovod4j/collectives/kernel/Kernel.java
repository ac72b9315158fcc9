package org.horovod4j.collectives.kernel;

import java.lang.foreign.MemorySegment;

/// Combines two arrays of one data type, element by element, with one reduce op.
///
/// All segments lie outside the heap, so that the compiled loops see one kind of memory. Offsets
/// and counts are whole elements' worth; `target` may be the same memory as `left` or `right`, but
/// may not overlap them otherwise.
@FunctionalInterface
public interface Kernel {
    /// `target[i] = left[i] op right[i]` for `count` elements.
    void combine(
            MemorySegment target,
            long targetOffset,
            MemorySegment left,
            long leftOffset,
            MemorySegment right,
            long rightOffset,
            long count);
}
