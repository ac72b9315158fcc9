package org.horovod4j.collectives.kernel;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;

import java.lang.foreign.MemorySegment;

/// One implementation of all kernels: [ScalarKernels] or [VectorKernels].
///
/// Both give the same bits for the same values, except for the payload of a NaN: the compiler may
/// take it from either operand of a sum.
sealed interface KernelVariant permits ScalarKernels, VectorKernels {
    /// The loop that combines two arrays.
    KernelLoop loop(DataType dataType, ReduceOp op);

    /// The arithmetic of `float16` and `bfloat16`; other types have none.
    HalfArithmetic halfArithmetic(DataType dataType);

    /// Multiplies all of `values` by `factor`; see [Kernels#scale] for the rounding.
    void scale(DataType dataType, MemorySegment values, double factor);

    /// Divides all of `values` by `divisor`; see [Kernels#divide] for the rounding.
    void divide(DataType dataType, MemorySegment values, long divisor);
}
