package org.horovod4j.collectives.kernel;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/// The blocks in which one thread keeps partial results.
///
/// They are small enough to stay in the first-level cache while every source passes by.
final class KernelScratch {
    /// Bytes of a partial result.
    static final int BLOCK_BYTES = 16 * 1024;

    /// Elements of a two-byte type that are calculated at a time; as `float`s, two such blocks take
    /// no more of the cache than one partial result.
    static final int HALF_BLOCK = 2048;

    /// Elements of `float16` that are combined at a time. More than [#HALF_BLOCK], because the
    /// compiled loop begins and ends with some hundred elements taken one by one.
    static final int FLOAT16_BLOCK = 4096;

    private static final long CACHE_LINE = 64;

    /// Outside the heap like everything a kernel sees. The collector frees it with its thread, as
    /// nobody else knows when a thread has called its last kernel.
    final MemorySegment partial = Arena.ofAuto().allocate(BLOCK_BYTES, CACHE_LINE);

    final float[] results = new float[HALF_BLOCK];
    final float[] terms = new float[HALF_BLOCK];
    final short[] lefts = new short[FLOAT16_BLOCK];
    final short[] rights = new short[FLOAT16_BLOCK];
}
