package org.horovod4j.collectives.kernel;

import java.lang.foreign.MemorySegment;

/// The way between a float of two bytes and the `float` that we calculate in.
///
/// Widening is exact, narrowing rounds to the nearest, ties to even, and NaN stays NaN. Which value
/// lands where in the array is the implementation's own affair, as long as it finds its way back:
/// what happens in between treats all elements alike.
interface HalfConverter {
    /// Fills the beginning of `values` with all elements of `source`.
    void widen(MemorySegment source, float[] values);

    /// Fills all of `target` from the beginning of `values`.
    void narrow(float[] values, MemorySegment target);
}
