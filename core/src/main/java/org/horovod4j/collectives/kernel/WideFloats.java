package org.horovod4j.collectives.kernel;

import org.horovod4j.ReduceOp;

import java.lang.foreign.MemorySegment;

/// Arithmetic on two-byte floats that rounds once, at the end.
///
/// Block by block, the values are widened to `float`, go through every step there, and are narrowed
/// to where they belong. A sum of many ranks thus keeps what each rounding on the way would lose.
final class WideFloats {
    private static final long BLOCK_BYTES = (long) Scratch.HALF_BLOCK * Short.BYTES;

    private final Half half;
    private final Scratch scratch;

    WideFloats(Half half, Scratch scratch) {
        this.half = half;
        this.scratch = scratch;
    }

    /// `target = sources[0] op sources[1] op …`, in this order; all segments are of one size.
    void reduce(ReduceOp op, MemorySegment target, MemorySegment[] sources) {
        for (long i = 0; i < target.byteSize(); i += BLOCK_BYTES) {
            MemorySegment block = block(target, i);
            half.widen(block(sources[0], i), scratch.results);
            for (int k = 1; k < sources.length; k++) {
                half.widen(block(sources[k], i), scratch.terms);
                FloatArrays.combine(op, scratch.results, scratch.terms, count(block));
            }
            half.narrow(scratch.results, block);
        }
    }

    void multiply(MemorySegment values, float factor) {
        for (long i = 0; i < values.byteSize(); i += BLOCK_BYTES) {
            MemorySegment block = block(values, i);
            half.widen(block, scratch.results);
            FloatArrays.multiply(scratch.results, factor, count(block));
            half.narrow(scratch.results, block);
        }
    }

    void divide(MemorySegment values, float divisor) {
        for (long i = 0; i < values.byteSize(); i += BLOCK_BYTES) {
            MemorySegment block = block(values, i);
            half.widen(block, scratch.results);
            FloatArrays.divide(scratch.results, divisor, count(block));
            half.narrow(scratch.results, block);
        }
    }

    private static MemorySegment block(MemorySegment segment, long offset) {
        return segment.asSlice(offset, Math.min(BLOCK_BYTES, segment.byteSize() - offset));
    }

    private static int count(MemorySegment block) {
        return (int) (block.byteSize() / Short.BYTES);
    }
}
