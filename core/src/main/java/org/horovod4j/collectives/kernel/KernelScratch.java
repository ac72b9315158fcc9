package org.horovod4j.collectives.kernel;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

/// Memory for the partial results of one thread.
///
/// Blocks are small enough to stay in the level-1 cache while all sources are processed.
final class KernelScratch {
    /// The size of a partial result in bytes.
    static final int BLOCK_BYTES = 16 * 1024;

    /// The elements of a two-byte type that are processed at a time. As `float`s, two such blocks
    /// use no more cache than one partial result.
    static final int HALF_BLOCK = 2048;

    /// The elements of `float16` that are combined at a time. More than [#HALF_BLOCK], because the
    /// compiled loop processes about a hundred elements one by one at its start and end.
    static final int FLOAT16_BLOCK = 4096;

    private static final long CACHE_LINE = 64;

    /// Off-heap, like all memory that kernels use. The garbage collector frees it with its thread,
    /// because the last call of a thread is not known.
    final MemorySegment partial = Arena.ofAuto().allocate(BLOCK_BYTES, CACHE_LINE);

    final float[] results = new float[HALF_BLOCK];
    final float[] terms = new float[HALF_BLOCK];
    final short[] lefts = new short[FLOAT16_BLOCK];
    final short[] rights = new short[FLOAT16_BLOCK];
}
