package org.horovod4j.testing;

import org.horovod4j.DataType;
import org.horovod4j.Tensor;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/// The elements of a tensor as numbers, one at a time: slow, but plain to see.
final class Elements {
    private Elements() {}

    /// The value of an integer or `bool` element.
    static long integer(Tensor tensor, long index) {
        MemorySegment memory = tensor.segment();
        long at = index * tensor.dataType().byteSize();
        return switch (tensor.dataType()) {
            case UINT8 -> Byte.toUnsignedLong(memory.get(ValueLayout.JAVA_BYTE, at));
            case INT8 -> memory.get(ValueLayout.JAVA_BYTE, at);
            case BOOL -> memory.get(ValueLayout.JAVA_BYTE, at) == 0 ? 0 : 1;
            case UINT16 -> Short.toUnsignedLong(memory.get(ValueLayout.JAVA_SHORT_UNALIGNED, at));
            case INT16 -> memory.get(ValueLayout.JAVA_SHORT_UNALIGNED, at);
            case INT32 -> memory.get(ValueLayout.JAVA_INT_UNALIGNED, at);
            case INT64 -> memory.get(ValueLayout.JAVA_LONG_UNALIGNED, at);
            case FLOAT16, BFLOAT16, FLOAT32, FLOAT64 ->
                    throw new IllegalArgumentException(tensor + " has no integers");
        };
    }

    /// The value of any element, as near as a `double` comes.
    static double real(Tensor tensor, long index) {
        MemorySegment memory = tensor.segment();
        long at = index * tensor.dataType().byteSize();
        return switch (tensor.dataType()) {
            case FLOAT16 -> Float.float16ToFloat(memory.get(ValueLayout.JAVA_SHORT_UNALIGNED, at));
            case BFLOAT16 ->
                    Float.intBitsToFloat(memory.get(ValueLayout.JAVA_SHORT_UNALIGNED, at) << 16);
            case FLOAT32 -> memory.get(ValueLayout.JAVA_FLOAT_UNALIGNED, at);
            case FLOAT64 -> memory.get(ValueLayout.JAVA_DOUBLE_UNALIGNED, at);
            case UINT8, INT8, UINT16, INT16, INT32, INT64, BOOL -> integer(tensor, index);
        };
    }

    /// Stores the low bits of `value`, as integers wrap around.
    static void set(Tensor tensor, long index, long value) {
        MemorySegment memory = tensor.segment();
        long at = index * tensor.dataType().byteSize();
        switch (tensor.dataType()) {
            case UINT8, INT8, BOOL -> memory.set(ValueLayout.JAVA_BYTE, at, (byte) value);
            case UINT16, INT16 -> memory.set(ValueLayout.JAVA_SHORT_UNALIGNED, at, (short) value);
            case INT32 -> memory.set(ValueLayout.JAVA_INT_UNALIGNED, at, (int) value);
            case INT64 -> memory.set(ValueLayout.JAVA_LONG_UNALIGNED, at, value);
            case FLOAT16, BFLOAT16, FLOAT32, FLOAT64 -> set(tensor, index, (double) value);
        }
    }

    /// Stores `value`, rounded to the nearest that the type has.
    static void set(Tensor tensor, long index, double value) {
        MemorySegment memory = tensor.segment();
        long at = index * tensor.dataType().byteSize();
        switch (tensor.dataType()) {
            case FLOAT16 ->
                    memory.set(
                            ValueLayout.JAVA_SHORT_UNALIGNED,
                            at,
                            Float.floatToFloat16((float) value));
            case BFLOAT16 ->
                    memory.set(ValueLayout.JAVA_SHORT_UNALIGNED, at, bfloat16((float) value));
            case FLOAT32 -> memory.set(ValueLayout.JAVA_FLOAT_UNALIGNED, at, (float) value);
            case FLOAT64 -> memory.set(ValueLayout.JAVA_DOUBLE_UNALIGNED, at, value);
            case UINT8, INT8, UINT16, INT16, INT32, INT64, BOOL ->
                    throw new IllegalArgumentException(tensor + " holds integers");
        }
    }

    /// The upper half of a float's bits, rounded to even; callers have no NaN.
    private static short bfloat16(float value) {
        int bits = Float.floatToRawIntBits(value);
        int roundUp = 0x7fff + (bits >>> 16 & 1);
        return (short) ((bits + roundUp) >>> 16);
    }

    static long least(DataType dataType) {
        return switch (dataType) {
            case UINT8, UINT16, BOOL -> 0;
            case INT8 -> Byte.MIN_VALUE;
            case INT16 -> Short.MIN_VALUE;
            case INT32 -> Integer.MIN_VALUE;
            case INT64 -> Long.MIN_VALUE;
            case FLOAT16, BFLOAT16, FLOAT32, FLOAT64 ->
                    throw new IllegalArgumentException(dataType + " is no integer type");
        };
    }

    static long greatest(DataType dataType) {
        return switch (dataType) {
            case BOOL -> 1;
            case UINT8 -> 0xff;
            case UINT16 -> 0xffff;
            case INT8, INT16, INT32, INT64 -> -1 - least(dataType);
            case FLOAT16, BFLOAT16, FLOAT32, FLOAT64 ->
                    throw new IllegalArgumentException(dataType + " is no integer type");
        };
    }
}
