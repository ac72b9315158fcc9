package org.horovod4j.collectives.kernel;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;

/// The expected results of the kernels, computed from their definitions.
final class Reference {
    private Reference() {}

    /// Combines the elements of all sources in the order of the sources.
    static long[] reduce(DataType dataType, ReduceOp op, long[][] sources) {
        long[] results = new long[sources[0].length];
        for (int i = 0; i < results.length; i++) {
            long[] column = new long[sources.length];
            for (int k = 0; k < sources.length; k++) {
                column[k] = sources[k][i];
            }
            results[i] = fold(dataType, op, column);
        }
        return results;
    }

    static long fold(DataType dataType, ReduceOp op, long... elements) {
        if (elements.length == 1) {
            return elements[0];
        }
        return switch (dataType) {
            case UINT8, INT8, UINT16, INT16, INT32, INT64 -> foldIntegers(dataType, op, elements);
            case FLOAT16, BFLOAT16, FLOAT32 -> foldFloats(dataType, op, elements);
            case FLOAT64 -> foldDoubles(op, elements);
            case BOOL -> foldBooleans(op, elements);
        };
    }

    private static long foldIntegers(DataType dataType, ReduceOp op, long[] elements) {
        long result = RawElements.integer(dataType, elements[0]);
        for (int k = 1; k < elements.length; k++) {
            long element = RawElements.integer(dataType, elements[k]);
            result =
                    switch (op) {
                        case SUM, AVERAGE -> result + element;
                        case PRODUCT -> result * element;
                        case MIN -> Math.min(result, element);
                        case MAX -> Math.max(result, element);
                        case ADASUM ->
                                throw new IllegalArgumentException(
                                        "not computed element by element");
                    };
        }
        return wrap(dataType, result);
    }

    /// The bits of an integer after wrapping around, sign-extended like all elements.
    private static long wrap(DataType dataType, long value) {
        int unused = Long.SIZE - Byte.SIZE * dataType.byteSize();
        return value << unused >> unused;
    }

    private static long foldFloats(DataType dataType, ReduceOp op, long[] elements) {
        float result = (float) RawElements.value(dataType, elements[0]);
        for (int k = 1; k < elements.length; k++) {
            float element = (float) RawElements.value(dataType, elements[k]);
            result =
                    switch (op) {
                        case SUM, AVERAGE -> result + element;
                        case PRODUCT -> result * element;
                        case MIN -> Math.min(result, element);
                        case MAX -> Math.max(result, element);
                        case ADASUM ->
                                throw new IllegalArgumentException(
                                        "not computed element by element");
                    };
        }
        return round(dataType, result);
    }

    private static long foldDoubles(ReduceOp op, long[] elements) {
        double result = Double.longBitsToDouble(elements[0]);
        for (int k = 1; k < elements.length; k++) {
            double element = Double.longBitsToDouble(elements[k]);
            result =
                    switch (op) {
                        case SUM, AVERAGE -> result + element;
                        case PRODUCT -> result * element;
                        case MIN -> Math.min(result, element);
                        case MAX -> Math.max(result, element);
                        case ADASUM ->
                                throw new IllegalArgumentException(
                                        "not computed element by element");
                    };
        }
        return Double.doubleToRawLongBits(result);
    }

    private static long foldBooleans(ReduceOp op, long[] elements) {
        boolean all = true;
        boolean any = false;
        for (long element : elements) {
            all &= element != 0;
            any |= element != 0;
        }
        boolean result =
                switch (op) {
                    case SUM, AVERAGE, MAX -> any;
                    case PRODUCT, MIN -> all;
                    case ADASUM ->
                            throw new IllegalArgumentException("not computed element by element");
                };
        return result ? 1 : 0;
    }

    /// The element nearest to `value`; of two equally near ones, the one whose last bit is 0.
    static long round(DataType dataType, float value) {
        return switch (dataType) {
            case FLOAT32 -> Float.floatToRawIntBits(value);
            case FLOAT16 -> Float.floatToFloat16(value);
            case BFLOAT16 -> nearestBFloat16(value);
            case UINT8, INT8, UINT16, INT16, INT32, INT64, FLOAT64, BOOL ->
                    throw new AssertionError(dataType);
        };
    }

    private static long nearestBFloat16(float value) {
        if (Float.isNaN(value)) {
            return RawElements.of(DataType.BFLOAT16, Float.NaN);
        }
        short below = (short) (Float.floatToRawIntBits(value) >>> 16);
        short above = (short) (below + 1);
        double toBelow = Math.abs(value - magnitude(below));
        double toAbove = Math.abs(value - magnitude(above));
        boolean takeBelow = toBelow < toAbove || (toBelow == toAbove && (below & 1) == 0);
        return Float.isInfinite(value) || takeBelow ? below : above;
    }

    /// The value, where infinity is treated as the next power of two, as IEEE 754 defines for
    /// rounding.
    private static double magnitude(short bfloat16) {
        double value = RawElements.value(DataType.BFLOAT16, bfloat16);
        return Double.isInfinite(value) ? Math.copySign(0x1p128, value) : value;
    }
}
