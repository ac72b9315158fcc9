package org.horovod4j.collectives.kernel;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;

import java.lang.foreign.MemorySegment;

/// One way to calculate everything: [ScalarKernels] or [VectorKernels].
///
/// Both give the same bits for the same values, but for the payload of a NaN, which the compiler
/// may take from either side of a sum.
sealed interface KernelVariant permits ScalarKernels, VectorKernels {
    /// The loop that combines two arrays.
    KernelLoop loop(DataType dataType, ReduceOp op);

    /// What `float16` and `bfloat16` need besides; there is none for other types.
    HalfArithmetic halfArithmetic(DataType dataType);

    /// Multiplies all of `values` by `factor`; see [Kernels#scale] for the rounding.
    void scale(DataType dataType, MemorySegment values, double factor);

    /// Divides all of `values` by `divisor`; see [Kernels#divide] for the rounding.
    void divide(DataType dataType, MemorySegment values, long divisor);
}
