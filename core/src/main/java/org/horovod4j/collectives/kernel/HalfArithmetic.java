package org.horovod4j.collectives.kernel;

import org.horovod4j.ReduceOp;

import java.lang.foreign.MemorySegment;

/// Arithmetic on two-byte floats that rounds once, at the end.
///
/// The values are processed in blocks: widened to `float`, combined there, and narrowed into the
/// target. So a sum over many ranks does not lose precision in every step.
final class HalfArithmetic {
    private static final long BLOCK_BYTES = (long) KernelScratch.HALF_BLOCK * Short.BYTES;

    private final HalfConverter converter;
    private final KernelScratch scratch;

    HalfArithmetic(HalfConverter converter, KernelScratch scratch) {
        this.converter = converter;
        this.scratch = scratch;
    }

    /// `target = sources[0] op sources[1] op …`, in this order. All segments have the same size.
    void reduce(ReduceOp op, MemorySegment target, MemorySegment[] sources) {
        for (long i = 0; i < target.byteSize(); i += BLOCK_BYTES) {
            MemorySegment block = block(target, i);
            converter.widen(block(sources[0], i), scratch.results);
            for (int k = 1; k < sources.length; k++) {
                converter.widen(block(sources[k], i), scratch.terms);
                FloatArrays.combine(op, scratch.results, scratch.terms, count(block));
            }
            converter.narrow(scratch.results, block);
        }
    }

    void multiply(MemorySegment values, float factor) {
        for (long i = 0; i < values.byteSize(); i += BLOCK_BYTES) {
            MemorySegment block = block(values, i);
            converter.widen(block, scratch.results);
            FloatArrays.multiply(scratch.results, factor, count(block));
            converter.narrow(scratch.results, block);
        }
    }

    void divide(MemorySegment values, float divisor) {
        for (long i = 0; i < values.byteSize(); i += BLOCK_BYTES) {
            MemorySegment block = block(values, i);
            converter.widen(block, scratch.results);
            FloatArrays.divide(scratch.results, divisor, count(block));
            converter.narrow(scratch.results, block);
        }
    }

    private static MemorySegment block(MemorySegment segment, long offset) {
        return offset == 0 && segment.byteSize() <= BLOCK_BYTES
                ? segment
                : segment.asSlice(offset, Math.min(BLOCK_BYTES, segment.byteSize() - offset));
    }

    private static int count(MemorySegment block) {
        return (int) (block.byteSize() / Short.BYTES);
    }
}
