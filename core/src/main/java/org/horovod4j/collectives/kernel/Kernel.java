package org.horovod4j.collectives.kernel;

import java.lang.foreign.MemorySegment;

/// Combines two arrays of one data type, element by element, with one reduce op.
///
/// All segments are off-heap, so that the compiled loops handle one kind of memory. `target` may be
/// the same memory as `left` or `right`, but must not overlap them otherwise.
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
