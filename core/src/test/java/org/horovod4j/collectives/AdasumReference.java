package org.horovod4j.collectives;

import org.horovod4j.DataType;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;

/// Adasum computed from its definition, element by element in double precision, and the values of a
/// tensor as `double`s.
final class AdasumReference {
    private AdasumReference() {}

    /// Combines all vectors. The result of each pair is rounded to the data type, in which it is
    /// stored.
    static double[] combine(DataType dataType, List<double[]> vectors) {
        List<double[]> left = new ArrayList<>(vectors);
        int surplus = left.size() - Integer.highestOneBit(left.size());
        for (int i = 0; i < surplus; i++) {
            left.set(i, pair(dataType, left.get(i), left.remove(i + 1)));
        }
        return halves(dataType, left);
    }

    private static double[] halves(DataType dataType, List<double[]> vectors) {
        int half = vectors.size() / 2;
        return half == 0
                ? vectors.getFirst()
                : pair(
                        dataType,
                        halves(dataType, vectors.subList(0, half)),
                        halves(dataType, vectors.subList(half, vectors.size())));
    }

    private static double[] pair(DataType dataType, double[] a, double[] b) {
        double left = dot(a, a) == 0 ? 1 : 1 - dot(a, b) / (2 * dot(a, a));
        double right = dot(b, b) == 0 ? 1 : 1 - dot(a, b) / (2 * dot(b, b));
        double[] result = new double[a.length];
        for (int i = 0; i < a.length; i++) {
            result[i] = left * a[i] + right * b[i];
        }
        return doubles(dataType, segment(dataType, result));
    }

    private static double dot(double[] a, double[] b) {
        double sum = 0;
        for (int i = 0; i < a.length; i++) {
            sum += a[i] * b[i];
        }
        return sum;
    }

    /// Half a unit in the last place of 1, plus a margin for each rounding of a sum.
    static double tolerance(DataType dataType) {
        return switch (dataType) {
            case FLOAT16 -> 0x1p-9;
            case BFLOAT16 -> 0x1p-6;
            case FLOAT32 -> 0x1p-21;
            case FLOAT64 -> 1e-12;
            case UINT8, INT8, UINT16, INT16, INT32, INT64, BOOL ->
                    throw new IllegalArgumentException(dataType + " is not a floating-point type");
        };
    }

    static MemorySegment segment(DataType dataType, double... values) {
        MemorySegment segment =
                MemorySegment.ofArray(new byte[values.length * dataType.byteSize()]);
        for (int i = 0; i < values.length; i++) {
            long at = (long) i * dataType.byteSize();
            switch (dataType) {
                case FLOAT16 ->
                        segment.set(
                                ValueLayout.JAVA_SHORT_UNALIGNED,
                                at,
                                Float.floatToFloat16((float) values[i]));
                case BFLOAT16 ->
                        segment.set(
                                ValueLayout.JAVA_SHORT_UNALIGNED, at, bfloat16((float) values[i]));
                case FLOAT32 ->
                        segment.set(ValueLayout.JAVA_FLOAT_UNALIGNED, at, (float) values[i]);
                case FLOAT64 -> segment.set(ValueLayout.JAVA_DOUBLE_UNALIGNED, at, values[i]);
                case UINT8, INT8, UINT16, INT16, INT32, INT64, BOOL ->
                        throw new IllegalArgumentException(
                                dataType + " is not a floating-point type");
            }
        }
        return segment;
    }

    /// Rounds to even. Callers pass no NaN.
    private static short bfloat16(float value) {
        int bits = Float.floatToRawIntBits(value);
        return (short) ((bits + 0x7fff + (bits >>> 16 & 1)) >>> 16);
    }

    static double[] doubles(DataType dataType, MemorySegment segment) {
        double[] values = new double[(int) (segment.byteSize() / dataType.byteSize())];
        for (int i = 0; i < values.length; i++) {
            long at = (long) i * dataType.byteSize();
            values[i] =
                    switch (dataType) {
                        case FLOAT16 ->
                                Float.float16ToFloat(
                                        segment.get(ValueLayout.JAVA_SHORT_UNALIGNED, at));
                        case BFLOAT16 ->
                                Float.intBitsToFloat(
                                        segment.get(ValueLayout.JAVA_SHORT_UNALIGNED, at) << 16);
                        case FLOAT32 -> segment.get(ValueLayout.JAVA_FLOAT_UNALIGNED, at);
                        case FLOAT64 -> segment.get(ValueLayout.JAVA_DOUBLE_UNALIGNED, at);
                        case UINT8, INT8, UINT16, INT16, INT32, INT64, BOOL ->
                                throw new IllegalArgumentException(
                                        dataType + " is not a floating-point type");
                    };
        }
        return values;
    }
}
