package org.horovod4j.collectives.kernel;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;

import java.lang.foreign.MemorySegment;

/// As many elements at a time as the machine supports, with the Vector API.
///
/// This class does not refer to the Vector API itself. The loop classes do, and each is loaded on
/// the first use of its data type: loading the Vector API takes about 30 ms, and the JVM may not
/// have it.
final class VectorKernels implements KernelVariant {
    private final ScalarKernels scalar;
    private final ThreadLocal<KernelScratch> scratch;

    VectorKernels(ScalarKernels scalar, ThreadLocal<KernelScratch> scratch) {
        this.scalar = scalar;
        this.scratch = scratch;
    }

    @Override
    public KernelLoop loop(DataType dataType, ReduceOp op) {
        return switch (dataType) {
            case UINT8 -> ByteLoops.Vector.ofUnsigned(op);
            case INT8 -> ByteLoops.Vector.of(op);
            case UINT16 -> ShortLoops.Vector.ofUnsigned(op);
            case INT16 -> ShortLoops.Vector.of(op);
            case INT32 -> IntLoops.Vector.of(op);
            case INT64 -> LongLoops.Vector.of(op);
            case FLOAT16 -> new Float16Loops.Vector(scratch.get()).of(op);
            case BFLOAT16 -> BFloat16Loops.Vector.of(op);
            case FLOAT32 -> FloatLoops.Vector.of(op);
            case FLOAT64 -> DoubleLoops.Vector.of(op);
            case BOOL -> BoolLoops.Vector.of(op);
        };
    }

    @Override
    public HalfArithmetic halfArithmetic(DataType dataType) {
        return switch (dataType) {
            case FLOAT16 ->
                    new HalfArithmetic(new Float16Loops.Vector(scratch.get()), scratch.get());
            case BFLOAT16 -> new HalfArithmetic(new BFloat16Loops.Vector(), scratch.get());
            case UINT8, INT8, UINT16, INT16, INT32, INT64, FLOAT32, FLOAT64, BOOL ->
                    scalar.halfArithmetic(dataType);
        };
    }

    /// Integers use the scalar variant: machines have no vector instruction that divides them, and
    /// scaling integers is rare.
    @Override
    public void scale(DataType dataType, MemorySegment values, double factor) {
        switch (dataType) {
            case FLOAT16, BFLOAT16 -> halfArithmetic(dataType).multiply(values, (float) factor);
            case FLOAT32 -> FloatLoops.Vector.multiply(values, (float) factor);
            case FLOAT64 -> DoubleLoops.Vector.multiply(values, factor);
            case UINT8, INT8, UINT16, INT16, INT32, INT64, BOOL ->
                    scalar.scale(dataType, values, factor);
        }
    }

    @Override
    public void divide(DataType dataType, MemorySegment values, long divisor) {
        switch (dataType) {
            case FLOAT16, BFLOAT16 -> halfArithmetic(dataType).divide(values, (float) divisor);
            case FLOAT32 -> FloatLoops.Vector.divide(values, (float) divisor);
            case FLOAT64 -> DoubleLoops.Vector.divide(values, (double) divisor);
            case UINT8, INT8, UINT16, INT16, INT32, INT64, BOOL ->
                    scalar.divide(dataType, values, divisor);
        }
    }
}
