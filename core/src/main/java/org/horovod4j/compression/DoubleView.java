package org.horovod4j.compression;

import org.horovod4j.DataType;
import org.horovod4j.Tensor;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/// The elements of a `float32` or `float64` tensor, read and written as `double`.
///
/// A sum or quotient of two `float`s that is calculated in `double` and then rounded is the one
/// that `float` arithmetic gives, so nothing is lost by having one code for both types.
record DoubleView(Tensor tensor) {
    /// Zeros, in an array of the same type and length as the elements of `tensor`.
    static DoubleView like(Tensor tensor, int count) {
        return new DoubleView(
                tensor.dataType() == DataType.FLOAT32
                        ? Tensor.of(new float[count])
                        : Tensor.of(new double[count]));
    }

    int count() {
        return (int) tensor.elementCount();
    }

    double get(int index) {
        MemorySegment memory = tensor.segment();
        return tensor.dataType() == DataType.FLOAT32
                ? memory.get(ValueLayout.JAVA_FLOAT_UNALIGNED, (long) index * Float.BYTES)
                : memory.get(ValueLayout.JAVA_DOUBLE_UNALIGNED, (long) index * Double.BYTES);
    }

    void set(int index, double value) {
        MemorySegment memory = tensor.segment();
        if (tensor.dataType() == DataType.FLOAT32) {
            memory.set(ValueLayout.JAVA_FLOAT_UNALIGNED, (long) index * Float.BYTES, (float) value);
        } else {
            memory.set(ValueLayout.JAVA_DOUBLE_UNALIGNED, (long) index * Double.BYTES, value);
        }
    }
}
