package org.horovod4j.collectives.algorithm;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.collectives.kernel.Kernels;

import java.lang.foreign.MemorySegment;

/// The arithmetic of one operation, on memory outside the heap.
///
/// @param kernels does the work
/// @param dataType the elements' type
/// @param op how they are combined
/// @param scale factors before and after
/// @param divisor what an average divides by
public record ScaledReduction(
        Kernels kernels, DataType dataType, ReduceOp op, Scale scale, int divisor) {

    int byteSize() {
        return dataType.byteSize();
    }

    public boolean prescales() {
        return scale.prescale() != 1.0;
    }

    /// Whether the values of a single rank stay as they are.
    public boolean isIdentity() {
        return !prescales() && !divides() && !postscales();
    }

    private boolean divides() {
        return op == ReduceOp.AVERAGE && divisor > 1;
    }

    private boolean postscales() {
        return scale.postscale() != 1.0;
    }

    /// What a rank does to its own values before they meet the others'.
    public void prepare(MemorySegment memory, long offset, long count) {
        if (prescales()) {
            kernels.scale(dataType, memory, offset, count, scale.prescale());
        }
    }

    /// Combines `sources` in order into `target`, which may be one of them.
    void fold(
            MemorySegment target,
            long targetOffset,
            MemorySegment[] sources,
            long[] sourceOffsets,
            long count) {
        kernels.reduce(
                dataType, op, target, targetOffset, sources, sourceOffsets, sources.length, count);
    }

    /// What happens to the combined values.
    public void finish(MemorySegment memory, long offset, long count) {
        if (divides()) {
            kernels.divide(dataType, memory, offset, count, divisor);
        }
        if (postscales()) {
            kernels.scale(dataType, memory, offset, count, scale.postscale());
        }
    }

    /// Combines two arrays into `target`, which may be one of them.
    void combine(
            MemorySegment target,
            long targetOffset,
            MemorySegment left,
            long leftOffset,
            MemorySegment right,
            long rightOffset,
            long count) {
        kernels.kernel(dataType, op)
                .combine(target, targetOffset, left, leftOffset, right, rightOffset, count);
    }

    /// An array outside the heap, to be reduced over links.
    public Operands operands(MemorySegment memory, long offset, long count) {
        return new Operands(this, memory, offset, count);
    }
}
