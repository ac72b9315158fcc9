package org.horovod4j.collectives.algorithm;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.collectives.kernel.Kernels;

import java.lang.foreign.MemorySegment;

/// The arithmetic of one collective, on off-heap memory.
///
/// @param kernels the kernels to use
/// @param dataType the type of the elements
/// @param op the reduction
/// @param scale the factors before and after the reduction
/// @param divisor what AVERAGE divides by
public record ScaledReduction(
        Kernels kernels, DataType dataType, ReduceOp op, Scale scale, int divisor) {

    int byteSize() {
        return dataType.byteSize();
    }

    public boolean prescales() {
        return scale.prescale() != 1.0;
    }

    /// Whether a reduction over a single rank leaves the values unchanged.
    public boolean isIdentity() {
        return !prescales() && !divides() && !postscales();
    }

    private boolean divides() {
        return op == ReduceOp.AVERAGE && divisor > 1;
    }

    private boolean postscales() {
        return scale.postscale() != 1.0;
    }

    /// Scales this rank's values before the reduction, if there is a prescale.
    public void prescale(MemorySegment memory, long offset, long count) {
        if (prescales()) {
            kernels.scale(dataType, memory, offset, count, scale.prescale());
        }
    }

    /// Reduces `sources` in order into `target`, which may be one of them.
    void reduce(
            MemorySegment target,
            long targetOffset,
            MemorySegment[] sources,
            long[] sourceOffsets,
            long count) {
        kernels.reduce(
                dataType, op, target, targetOffset, sources, sourceOffsets, sources.length, count);
    }

    /// Reduces segments of the same size in order into `target`, which may be one of them.
    void reduce(MemorySegment target, MemorySegment[] sources) {
        kernels.reduce(dataType, op, target, sources);
    }

    /// Divides the reduced values if the op is AVERAGE, and scales them after the reduction.
    public void postscale(MemorySegment memory, long offset, long count) {
        if (divides()) {
            kernels.divide(dataType, memory, offset, count, divisor);
        }
        if (postscales()) {
            kernels.scale(dataType, memory, offset, count, scale.postscale());
        }
    }

    /// Reduces two arrays into `target`, which may be one of them.
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

    /// Operands with this arithmetic.
    public Operands operands(MemorySegment memory, long offset, long count) {
        return new Operands(this, memory, offset, count);
    }
}
