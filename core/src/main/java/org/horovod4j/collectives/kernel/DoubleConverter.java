package org.horovod4j.collectives.kernel;

import org.horovod4j.DataType;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/// Converts between the floats of a tensor and the `double`s in which Adasum calculates, block by
/// block.
///
/// Widening is exact and keeps the order of the elements. Narrowing rounds to nearest, via `float`
/// for two-byte types. The compiler vectorizes the loops over heap arrays, so both variants share
/// them.
final class DoubleConverter {
    private static final ValueLayout.OfFloat FLOAT = ValueLayout.JAVA_FLOAT_UNALIGNED;
    private static final ValueLayout.OfDouble DOUBLE = ValueLayout.JAVA_DOUBLE_UNALIGNED;

    private final float[] floats;
    private final HalfConverter float16;
    private final HalfConverter bfloat16 = new BFloat16Loops.Scalar();

    DoubleConverter(KernelScratch scratch) {
        this.floats = scratch.results;
        this.float16 = new Float16Loops.Vector(scratch);
    }

    /// Copies all elements of `source` to the start of `values`.
    void widen(DataType dataType, MemorySegment source, double[] values) {
        int count = (int) (source.byteSize() / dataType.byteSize());
        switch (dataType) {
            case FLOAT16 -> float16.widen(source, floats);
            case BFLOAT16 -> bfloat16.widen(source, floats);
            case FLOAT32 -> MemorySegment.copy(source, FLOAT, 0, floats, 0, count);
            case FLOAT64 -> {
                MemorySegment.copy(source, DOUBLE, 0, values, 0, count);
                return;
            }
            case UINT8, INT8, UINT16, INT16, INT32, INT64, BOOL -> throw notFloatingPoint(dataType);
        }
        widen(floats, values, count);
    }

    private static void widen(float[] narrow, double[] wide, int count) {
        for (int i = 0; i < count; i++) {
            wide[i] = narrow[i];
        }
    }

    /// Fills `target` from the start of `values`.
    void narrow(DataType dataType, double[] values, MemorySegment target) {
        int count = (int) (target.byteSize() / dataType.byteSize());
        if (dataType == DataType.FLOAT64) {
            MemorySegment.copy(values, 0, target, DOUBLE, 0, count);
            return;
        }
        narrow(values, floats, count);
        switch (dataType) {
            case FLOAT16 -> float16.narrow(floats, target);
            case BFLOAT16 -> bfloat16.narrow(floats, target);
            case FLOAT32 -> MemorySegment.copy(floats, 0, target, FLOAT, 0, count);
            case FLOAT64, UINT8, INT8, UINT16, INT16, INT32, INT64, BOOL ->
                    throw notFloatingPoint(dataType);
        }
    }

    private static void narrow(double[] wide, float[] narrow, int count) {
        for (int i = 0; i < count; i++) {
            narrow[i] = (float) wide[i];
        }
    }

    private static IllegalArgumentException notFloatingPoint(DataType dataType) {
        return new IllegalArgumentException(
                "Adasum needs a floating-point type, got %s".formatted(dataType));
    }
}
