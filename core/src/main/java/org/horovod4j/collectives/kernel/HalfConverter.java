package org.horovod4j.collectives.kernel;

import java.lang.foreign.MemorySegment;

/// Converts between a two-byte float and `float`.
///
/// Widening is exact. Narrowing rounds to nearest, ties to even, and NaN stays NaN. An
/// implementation may store the values in any order, as long as narrowing reverses it: the
/// arithmetic in between treats all elements alike.
interface HalfConverter {
    /// Copies all elements of `source` to the start of `values`.
    void widen(MemorySegment source, float[] values);

    /// Fills `target` from the start of `values`.
    void narrow(float[] values, MemorySegment target);
}
