package org.horovod4j.collectives.kernel;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;

import java.lang.foreign.MemorySegment;

/// One element at a time, on any JVM. The reference variant.
final class ScalarKernels implements KernelVariant {
    private final ThreadLocal<KernelScratch> scratch;

    ScalarKernels(ThreadLocal<KernelScratch> scratch) {
        this.scratch = scratch;
    }

    @Override
    public KernelLoop loop(DataType dataType, ReduceOp op) {
        return switch (dataType) {
            case UINT8 -> ByteLoops.Scalar.ofUnsigned(op);
            case INT8 -> ByteLoops.Scalar.of(op);
            case UINT16 -> ShortLoops.Scalar.ofUnsigned(op);
            case INT16 -> ShortLoops.Scalar.of(op);
            case INT32 -> IntLoops.Scalar.of(op);
            case INT64 -> LongLoops.Scalar.of(op);
            case FLOAT16 -> Float16Loops.Scalar.of(op);
            case BFLOAT16 -> BFloat16Loops.Scalar.of(op);
            case FLOAT32 -> FloatLoops.Scalar.of(op);
            case FLOAT64 -> DoubleLoops.Scalar.of(op);
            case BOOL -> BoolLoops.Scalar.of(op);
        };
    }

    @Override
    public HalfArithmetic halfArithmetic(DataType dataType) {
        HalfConverter converter =
                switch (dataType) {
                    case FLOAT16 -> new Float16Loops.Scalar();
                    case BFLOAT16 -> new BFloat16Loops.Scalar();
                    case UINT8, INT8, UINT16, INT16, INT32, INT64, FLOAT32, FLOAT64, BOOL ->
                            throw new IllegalArgumentException(
                                    "%s is not a two-byte float".formatted(dataType));
                };
        return new HalfArithmetic(converter, scratch.get());
    }

    @Override
    public void scale(DataType dataType, MemorySegment values, double factor) {
        switch (dataType) {
            case UINT8 -> ByteLoops.Scalar.unsignedScale(values, factor);
            case INT8 -> ByteLoops.Scalar.scale(values, factor);
            case UINT16 -> ShortLoops.Scalar.unsignedScale(values, factor);
            case INT16 -> ShortLoops.Scalar.scale(values, factor);
            case INT32 -> IntLoops.Scalar.scale(values, factor);
            case INT64 -> LongLoops.Scalar.scale(values, factor);
            case FLOAT16, BFLOAT16 -> halfArithmetic(dataType).multiply(values, (float) factor);
            case FLOAT32 -> FloatLoops.Scalar.multiply(values, (float) factor);
            case FLOAT64 -> DoubleLoops.Scalar.multiply(values, factor);
            case BOOL ->
                    throw new IllegalArgumentException(
                            "bool cannot be scaled: use another data type, or no scale");
        }
    }

    @Override
    public void divide(DataType dataType, MemorySegment values, long divisor) {
        switch (dataType) {
            case UINT8 -> ByteLoops.Scalar.unsignedDivide(values, divisor);
            case INT8 -> ByteLoops.Scalar.divide(values, divisor);
            case UINT16 -> ShortLoops.Scalar.unsignedDivide(values, divisor);
            case INT16 -> ShortLoops.Scalar.divide(values, divisor);
            case INT32 -> IntLoops.Scalar.divide(values, divisor);
            case INT64 -> LongLoops.Scalar.divide(values, divisor);
            case FLOAT16, BFLOAT16 -> halfArithmetic(dataType).divide(values, (float) divisor);
            case FLOAT32 -> FloatLoops.Scalar.divide(values, (float) divisor);
            case FLOAT64 -> DoubleLoops.Scalar.divide(values, (double) divisor);
            case BOOL ->
                    throw new IllegalArgumentException(
                            "bool cannot be averaged: use SUM (or) or PRODUCT (and)");
        }
    }
}
