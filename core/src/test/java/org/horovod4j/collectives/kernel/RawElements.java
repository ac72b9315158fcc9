package org.horovod4j.collectives.kernel;

import org.horovod4j.DataType;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.random.RandomGenerator;

/// Elements of any data type, as the raw bits in memory.
final class RawElements {
    private RawElements() {}

    static long get(DataType dataType, MemorySegment segment, long offset) {
        return switch (dataType.byteSize()) {
            case 1 -> segment.get(ValueLayout.JAVA_BYTE, offset);
            case 2 -> segment.get(ValueLayout.JAVA_SHORT_UNALIGNED, offset);
            case 4 -> segment.get(ValueLayout.JAVA_INT_UNALIGNED, offset);
            case 8 -> segment.get(ValueLayout.JAVA_LONG_UNALIGNED, offset);
            default -> throw new AssertionError(dataType);
        };
    }

    static void set(DataType dataType, MemorySegment segment, long offset, long bits) {
        switch (dataType.byteSize()) {
            case 1 -> segment.set(ValueLayout.JAVA_BYTE, offset, (byte) bits);
            case 2 -> segment.set(ValueLayout.JAVA_SHORT_UNALIGNED, offset, (short) bits);
            case 4 -> segment.set(ValueLayout.JAVA_INT_UNALIGNED, offset, (int) bits);
            case 8 -> segment.set(ValueLayout.JAVA_LONG_UNALIGNED, offset, bits);
            default -> throw new AssertionError(dataType);
        }
    }

    static long[] getAll(DataType dataType, MemorySegment segment, long offset, int count) {
        long[] elements = new long[count];
        for (int i = 0; i < count; i++) {
            elements[i] = get(dataType, segment, offset + (long) i * dataType.byteSize());
        }
        return elements;
    }

    static void setAll(DataType dataType, MemorySegment segment, long offset, long[] elements) {
        for (int i = 0; i < elements.length; i++) {
            set(dataType, segment, offset + (long) i * dataType.byteSize(), elements[i]);
        }
    }

    /// Half of them are near 1, where sums and products are ordinary. The others have random bits,
    /// which for floats means every magnitude, infinities, subnormals and NaN.
    static long[] random(DataType dataType, int count, RandomGenerator random) {
        long[] elements = new long[count];
        for (int i = 0; i < count; i++) {
            boolean ordinary = random.nextBoolean();
            elements[i] =
                    ordinary ? of(dataType, random.nextInt(-8, 9) / 4.0) : any(dataType, random);
        }
        return elements;
    }

    private static long any(DataType dataType, RandomGenerator random) {
        return switch (dataType.byteSize()) {
            case 1 -> (byte) random.nextInt();
            case 2 -> (short) random.nextInt();
            case 4 -> random.nextInt();
            default -> random.nextLong();
        };
    }

    /// The bits of a value that the data type can represent; other values are rounded in any way.
    static long of(DataType dataType, double value) {
        return switch (dataType) {
            case UINT8, INT8 -> (byte) (long) value;
            case UINT16, INT16 -> (short) (long) value;
            case INT32 -> (int) (long) value;
            case INT64 -> (long) value;
            case FLOAT16 -> Float.floatToFloat16((float) value);
            case BFLOAT16 -> (short) (Float.floatToRawIntBits((float) value) >>> 16);
            case FLOAT32 -> Float.floatToRawIntBits((float) value);
            case FLOAT64 -> Double.doubleToRawLongBits(value);
            case BOOL -> value == 0 ? 0 : 1;
        };
    }

    /// The value of a floating-point element.
    static double value(DataType dataType, long bits) {
        return switch (dataType) {
            case FLOAT16 -> Float.float16ToFloat((short) bits);
            case BFLOAT16 -> Float.intBitsToFloat((int) bits << 16);
            case FLOAT32 -> Float.intBitsToFloat((int) bits);
            case FLOAT64 -> Double.longBitsToDouble(bits);
            case UINT8, INT8, UINT16, INT16, INT32, INT64, BOOL ->
                    throw new AssertionError(dataType);
        };
    }

    /// The value of an integer element.
    static long integer(DataType dataType, long bits) {
        return switch (dataType) {
            case UINT8 -> bits & 0xff;
            case UINT16 -> bits & 0xffff;
            case INT8, INT16, INT32, INT64 -> bits;
            case FLOAT16, BFLOAT16, FLOAT32, FLOAT64, BOOL -> throw new AssertionError(dataType);
        };
    }

    /// Replaces every NaN by the same one, because its payload is undefined.
    static long[] withCanonicalNaN(DataType dataType, long[] elements) {
        if (!dataType.isFloatingPoint()) {
            return elements;
        }
        long[] canonical = elements.clone();
        for (int i = 0; i < canonical.length; i++) {
            if (Double.isNaN(value(dataType, canonical[i]))) {
                canonical[i] = of(dataType, Double.NaN);
            }
        }
        return canonical;
    }
}
