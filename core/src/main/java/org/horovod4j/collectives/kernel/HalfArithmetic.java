package org.horovod4j.collectives.kernel;

import org.horovod4j.ReduceOp;

import java.lang.foreign.MemorySegment;

/// Arithmetic on two-byte floats that rounds once, at the end.
///
/// Block by block, the values are widened to `float`, go through every step there, and are narrowed
/// to where they belong. A sum of many ranks thus keeps what each rounding on the way would lose.
final class HalfArithmetic {
    private static final long BLOCK_BYTES = (long) KernelScratch.HALF_BLOCK * Short.BYTES;

    private final HalfConverter converter;
    private final KernelScratch kernelScratch;

    HalfArithmetic(HalfConverter halfConverter, KernelScratch kernelScratch) {
        this.converter = halfConverter;
        this.kernelScratch = kernelScratch;
    }

    /// `target = sources[0] op sources[1] op …`, in this order; all segments are of one size.
    void reduce(ReduceOp op, MemorySegment target, MemorySegment[] sources) {
        for (long i = 0; i < target.byteSize(); i += BLOCK_BYTES) {
            MemorySegment block = block(target, i);
            converter.widen(block(sources[0], i), kernelScratch.results);
            for (int k = 1; k < sources.length; k++) {
                converter.widen(block(sources[k], i), kernelScratch.terms);
                FloatArrays.combine(op, kernelScratch.results, kernelScratch.terms, count(block));
            }
            converter.narrow(kernelScratch.results, block);
        }
    }

    void multiply(MemorySegment values, float factor) {
        for (long i = 0; i < values.byteSize(); i += BLOCK_BYTES) {
            MemorySegment block = block(values, i);
            converter.widen(block, kernelScratch.results);
            FloatArrays.multiply(kernelScratch.results, factor, count(block));
            converter.narrow(kernelScratch.results, block);
        }
    }

    void divide(MemorySegment values, float divisor) {
        for (long i = 0; i < values.byteSize(); i += BLOCK_BYTES) {
            MemorySegment block = block(values, i);
            converter.widen(block, kernelScratch.results);
            FloatArrays.divide(kernelScratch.results, divisor, count(block));
            converter.narrow(kernelScratch.results, block);
        }
    }

    private static MemorySegment block(MemorySegment segment, long offset) {
        return segment.asSlice(offset, Math.min(BLOCK_BYTES, segment.byteSize() - offset));
    }

    private static int count(MemorySegment block) {
        return (int) (block.byteSize() / Short.BYTES);
    }
}
