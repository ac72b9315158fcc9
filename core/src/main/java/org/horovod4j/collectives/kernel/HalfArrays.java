package org.horovod4j.collectives.kernel;

import org.horovod4j.DataType;

/// Converts between `float` and two-byte floats.
///
/// The compiler vectorizes these loops over heap arrays. Widening is exact. Narrowing rounds to
/// nearest, ties to even, and overflows to infinity.
public final class HalfArrays {
    private static final int ALMOST_HALF = 0x7fff;
    private static final int QUIET = 0x0040_0000;
    private static final int INFINITY = 0x7f80_0000;

    private HalfArrays() {}

    /// `narrow[i] = wide[i]` for the first `count` elements.
    ///
    /// @param dataType `float16` or `bfloat16`
    public static void narrow(DataType dataType, float[] wide, short[] narrow, int count) {
        if (isFloat16(dataType)) {
            narrowToFloat16(wide, narrow, count);
        } else {
            narrowToBFloat16(wide, narrow, count);
        }
    }

    /// `wide[i] = narrow[i]` for the first `count` elements.
    ///
    /// @param dataType `float16` or `bfloat16`
    public static void widen(DataType dataType, short[] narrow, float[] wide, int count) {
        if (isFloat16(dataType)) {
            widenFloat16(narrow, wide, count);
        } else {
            widenBFloat16(narrow, wide, count);
        }
    }

    private static boolean isFloat16(DataType dataType) {
        if (dataType != DataType.FLOAT16 && dataType != DataType.BFLOAT16) {
            throw new IllegalArgumentException(dataType + " is not a two-byte float");
        }
        return dataType == DataType.FLOAT16;
    }

    private static void narrowToFloat16(float[] wide, short[] narrow, int count) {
        for (int i = 0; i < count; i++) {
            narrow[i] = Float.floatToFloat16(wide[i]);
        }
    }

    private static void widenFloat16(short[] narrow, float[] wide, int count) {
        for (int i = 0; i < count; i++) {
            wide[i] = Float.float16ToFloat(narrow[i]);
        }
    }

    /// See [BFloat16Loops] for the rounding.
    private static void narrowToBFloat16(float[] wide, short[] narrow, int count) {
        for (int i = 0; i < count; i++) {
            int bits = Float.floatToRawIntBits(wide[i]);
            boolean isNaN = (bits & Integer.MAX_VALUE) > INFINITY;
            int rounded = isNaN ? bits | QUIET : bits + ALMOST_HALF + (bits >>> 16 & 1);
            narrow[i] = (short) (rounded >>> 16);
        }
    }

    private static void widenBFloat16(short[] narrow, float[] wide, int count) {
        for (int i = 0; i < count; i++) {
            wide[i] = Float.intBitsToFloat(narrow[i] << 16);
        }
    }
}
