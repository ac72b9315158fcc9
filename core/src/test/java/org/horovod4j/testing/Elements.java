package org.horovod4j.testing;

import org.horovod4j.DataType;
import org.horovod4j.Tensor;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/// The elements of a tensor as numbers, in a copy of its bytes.
///
/// The copy is a Java array: reading single elements of segments becomes ten times slower once a
/// JVM has used all kinds of segments, as after a few tests.
final class Elements {
    private static final VarHandle SHORTS = view(short[].class);
    private static final VarHandle INTS = view(int[].class);
    private static final VarHandle LONGS = view(long[].class);
    private static final VarHandle FLOATS = view(float[].class);
    private static final VarHandle DOUBLES = view(double[].class);

    private final Tensor tensor;
    private final DataType type;
    private final byte[] bytes;

    private Elements(Tensor tensor, byte[] bytes) {
        this.tensor = tensor;
        this.type = tensor.dataType();
        this.bytes = bytes;
    }

    private static VarHandle view(Class<?> arrayType) {
        return MethodHandles.byteArrayViewVarHandle(arrayType, ByteOrder.nativeOrder());
    }

    /// The current elements of `tensor`.
    static Elements of(Tensor tensor) {
        return new Elements(tensor, tensor.segment().toArray(ValueLayout.JAVA_BYTE));
    }

    /// Zeros of the type and size of `tensor`.
    static Elements zerosFor(Tensor tensor) {
        return new Elements(tensor, new byte[Math.toIntExact(tensor.byteSize())]);
    }

    /// Writes these elements to the tensor.
    Tensor store() {
        tensor.segment().copyFrom(MemorySegment.ofArray(bytes));
        return tensor;
    }

    int count() {
        return bytes.length / type.byteSize();
    }

    /// The value of an integer or `bool` element.
    long integer(int index) {
        int at = index * type.byteSize();
        return switch (type) {
            case UINT8 -> Byte.toUnsignedLong(bytes[at]);
            case INT8 -> bytes[at];
            case BOOL -> bytes[at] == 0 ? 0 : 1;
            case UINT16 -> Short.toUnsignedLong((short) SHORTS.get(bytes, at));
            case INT16 -> (short) SHORTS.get(bytes, at);
            case INT32 -> (int) INTS.get(bytes, at);
            case INT64 -> (long) LONGS.get(bytes, at);
            case FLOAT16, BFLOAT16, FLOAT32, FLOAT64 ->
                    throw new IllegalArgumentException(tensor + " is not a tensor of integers");
        };
    }

    /// The value of any element, as the nearest `double`.
    double real(int index) {
        int at = index * type.byteSize();
        return switch (type) {
            case FLOAT16 -> Float.float16ToFloat((short) SHORTS.get(bytes, at));
            case BFLOAT16 -> Float.intBitsToFloat((short) SHORTS.get(bytes, at) << 16);
            case FLOAT32 -> (float) FLOATS.get(bytes, at);
            case FLOAT64 -> (double) DOUBLES.get(bytes, at);
            case UINT8, INT8, UINT16, INT16, INT32, INT64, BOOL -> integer(index);
        };
    }

    /// Stores the low bits of `value`: integers wrap around.
    void set(int index, long value) {
        int at = index * type.byteSize();
        switch (type) {
            case UINT8, INT8, BOOL -> bytes[at] = (byte) value;
            case UINT16, INT16 -> SHORTS.set(bytes, at, (short) value);
            case INT32 -> INTS.set(bytes, at, (int) value);
            case INT64 -> LONGS.set(bytes, at, value);
            case FLOAT16, BFLOAT16, FLOAT32, FLOAT64 -> set(index, (double) value);
        }
    }

    /// Stores `value`, rounded to the nearest value of the type.
    void set(int index, double value) {
        int at = index * type.byteSize();
        switch (type) {
            case FLOAT16 -> SHORTS.set(bytes, at, Float.floatToFloat16((float) value));
            case BFLOAT16 -> SHORTS.set(bytes, at, bfloat16((float) value));
            case FLOAT32 -> FLOATS.set(bytes, at, (float) value);
            case FLOAT64 -> DOUBLES.set(bytes, at, value);
            case UINT8, INT8, UINT16, INT16, INT32, INT64, BOOL ->
                    throw new IllegalArgumentException(tensor + " is a tensor of integers");
        }
    }

    /// The upper half of a float's bits, rounded to even. The only NaN that callers pass is the
    /// canonical one.
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
                    throw new IllegalArgumentException(dataType + " is not an integer type");
        };
    }

    static long greatest(DataType dataType) {
        return switch (dataType) {
            case BOOL -> 1;
            case UINT8 -> 0xff;
            case UINT16 -> 0xffff;
            case INT8, INT16, INT32, INT64 -> -1 - least(dataType);
            case FLOAT16, BFLOAT16, FLOAT32, FLOAT64 ->
                    throw new IllegalArgumentException(dataType + " is not an integer type");
        };
    }
}
