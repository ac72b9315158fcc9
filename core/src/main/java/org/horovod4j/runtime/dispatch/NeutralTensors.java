package org.horovod4j.runtime.dispatch;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/// Tensors that do not change a result: the contribution of a rank that has joined.
public final class NeutralTensors {
    private static final short HALF_ONE = Float.floatToFloat16(1);
    private static final short HALF_INFINITY = Float.floatToFloat16(Float.POSITIVE_INFINITY);
    private static final short BFLOAT_ONE = 0x3f80;
    private static final short BFLOAT_INFINITY = 0x7f80;
    private static final short SIGN = (short) 0x8000;

    private NeutralTensors() {}

    /// Zeros for sums, ones for products, the greatest value for minima, the least for maxima.
    static Tensor of(DataType dataType, Shape shape, ReduceOp op) {
        Tensor tensor = Tensor.zeros(dataType, shape);
        long bits = bits(dataType, op);
        if (bits != 0) {
            fill(tensor, bits);
        }
        return tensor;
    }

    /// The bits of each element, in the low bytes.
    public static long bits(DataType dataType, ReduceOp op) {
        return switch (op) {
            case SUM, AVERAGE, ADASUM -> 0;
            case PRODUCT -> one(dataType);
            case MIN -> limit(dataType, false);
            case MAX -> limit(dataType, true);
        };
    }

    private static long one(DataType dataType) {
        return switch (dataType) {
            case BOOL, UINT8, INT8, UINT16, INT16, INT32, INT64 -> 1;
            case FLOAT16 -> HALF_ONE;
            case BFLOAT16 -> BFLOAT_ONE;
            case FLOAT32 -> Float.floatToRawIntBits(1);
            case FLOAT64 -> Double.doubleToRawLongBits(1);
        };
    }

    private static long limit(DataType dataType, boolean least) {
        return switch (dataType) {
            case BOOL -> least ? 0 : 1;
            case UINT8 -> least ? 0 : 0xff;
            case INT8 -> least ? Byte.MIN_VALUE : Byte.MAX_VALUE;
            case UINT16 -> least ? 0 : 0xffff;
            case INT16 -> least ? Short.MIN_VALUE : Short.MAX_VALUE;
            case INT32 -> least ? Integer.MIN_VALUE : Integer.MAX_VALUE;
            case INT64 -> least ? Long.MIN_VALUE : Long.MAX_VALUE;
            case FLOAT16 -> least ? HALF_INFINITY | SIGN : HALF_INFINITY;
            case BFLOAT16 -> least ? BFLOAT_INFINITY | SIGN : BFLOAT_INFINITY;
            case FLOAT32 ->
                    Float.floatToRawIntBits(
                            least ? Float.NEGATIVE_INFINITY : Float.POSITIVE_INFINITY);
            case FLOAT64 ->
                    Double.doubleToRawLongBits(
                            least ? Double.NEGATIVE_INFINITY : Double.POSITIVE_INFINITY);
        };
    }

    private static void fill(Tensor tensor, long bits) {
        MemorySegment memory = tensor.segment();
        long count = tensor.elementCount();
        switch (tensor.dataType().byteSize()) {
            case Byte.BYTES -> memory.fill((byte) bits);
            case Short.BYTES -> {
                for (long i = 0; i < count; i++) {
                    memory.setAtIndex(ValueLayout.JAVA_SHORT_UNALIGNED, i, (short) bits);
                }
            }
            case Integer.BYTES -> {
                for (long i = 0; i < count; i++) {
                    memory.setAtIndex(ValueLayout.JAVA_INT_UNALIGNED, i, (int) bits);
                }
            }
            case Long.BYTES -> {
                for (long i = 0; i < count; i++) {
                    memory.setAtIndex(ValueLayout.JAVA_LONG_UNALIGNED, i, bits);
                }
            }
            default -> throw new IllegalArgumentException("no such element size: " + tensor);
        }
    }
}
