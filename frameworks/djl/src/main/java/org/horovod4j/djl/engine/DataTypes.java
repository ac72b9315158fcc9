package org.horovod4j.djl.engine;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.types.DataType;

import org.horovod4j.Shape;

/// Conversion between types and shapes of DJL and of Horovod4J.
public final class DataTypes {
    private DataTypes() {}

    /// Horovod4J's type of the same numbers.
    ///
    /// @throws IllegalArgumentException when Horovod4J has no such type
    public static org.horovod4j.DataType of(DataType type) {
        return switch (type) {
            case FLOAT32 -> org.horovod4j.DataType.FLOAT32;
            case FLOAT64 -> org.horovod4j.DataType.FLOAT64;
            case FLOAT16 -> org.horovod4j.DataType.FLOAT16;
            case BFLOAT16 -> org.horovod4j.DataType.BFLOAT16;
            case INT8 -> org.horovod4j.DataType.INT8;
            case UINT8 -> org.horovod4j.DataType.UINT8;
            case INT16 -> org.horovod4j.DataType.INT16;
            case UINT16 -> org.horovod4j.DataType.UINT16;
            case INT32 -> org.horovod4j.DataType.INT32;
            case INT64 -> org.horovod4j.DataType.INT64;
            case BOOLEAN -> org.horovod4j.DataType.BOOL;
            case UINT32, UINT64, COMPLEX64, STRING, UNKNOWN ->
                    throw new IllegalArgumentException(
                            """
                            an array of %s cannot be exchanged between ranks
                            Convert it first: NDArray.toType(DataType.FLOAT32, false)."""
                                    .formatted(type.name().toLowerCase(java.util.Locale.ROOT)));
        };
    }

    /// DJL's type of the same numbers.
    public static DataType djlType(org.horovod4j.DataType type) {
        return switch (type) {
            case FLOAT32 -> DataType.FLOAT32;
            case FLOAT64 -> DataType.FLOAT64;
            case FLOAT16 -> DataType.FLOAT16;
            case BFLOAT16 -> DataType.BFLOAT16;
            case INT8 -> DataType.INT8;
            case UINT8 -> DataType.UINT8;
            case INT16 -> DataType.INT16;
            case UINT16 -> DataType.UINT16;
            case INT32 -> DataType.INT32;
            case INT64 -> DataType.INT64;
            case BOOL -> DataType.BOOLEAN;
        };
    }

    /// The same dimensions.
    public static Shape shape(NDArray array) {
        return Shape.of(array.getShape().getShape());
    }

    /// The bytes of all elements of an array. A sparse array counts as a dense one.
    public static long byteSize(NDArray array) {
        return Math.multiplyExact(array.size(), (long) array.getDataType().getNumOfBytes());
    }
}
