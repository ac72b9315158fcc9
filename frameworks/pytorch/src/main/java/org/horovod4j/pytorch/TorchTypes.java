package org.horovod4j.pytorch;

import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.horovod4j.DataType;
import org.horovod4j.Shape;

/// Types and shapes of PyTorch's tensors, in terms of Horovod4J.
final class TorchTypes {
    private TorchTypes() {}

    /// @throws IllegalArgumentException when Horovod4J has no such type
    static DataType of(Tensor tensor) {
        ScalarType type = tensor.scalar_type().intern(); // JavaCPP returns a new object
        return switch (type) {
            case Float -> DataType.FLOAT32;
            case Double -> DataType.FLOAT64;
            case Half -> DataType.FLOAT16;
            case BFloat16 -> DataType.BFLOAT16;
            case Char -> DataType.INT8;
            case Byte -> DataType.UINT8;
            case Short -> DataType.INT16;
            case UInt16 -> DataType.UINT16;
            case Int -> DataType.INT32;
            case Long -> DataType.INT64;
            case Bool -> DataType.BOOL;
            default ->
                    throw new IllegalArgumentException(
                            """
                            a tensor of %s cannot be exchanged between ranks
                            Convert it first: tensor.to(ScalarType.Float)."""
                                    .formatted(type));
        };
    }

    private static ScalarType scalarType(DataType type) {
        return switch (type) {
            case FLOAT32 -> ScalarType.Float;
            case FLOAT64 -> ScalarType.Double;
            case FLOAT16 -> ScalarType.Half;
            case BFLOAT16 -> ScalarType.BFloat16;
            case INT8 -> ScalarType.Char;
            case UINT8 -> ScalarType.Byte;
            case INT16 -> ScalarType.Short;
            case UINT16 -> ScalarType.UInt16;
            case INT32 -> ScalarType.Int;
            case INT64 -> ScalarType.Long;
            case BOOL -> ScalarType.Bool;
        };
    }

    /// The options of a tensor in main memory.
    static TensorOptions options(DataType type) {
        return new TensorOptions(scalarType(type));
    }

    static Shape shape(Tensor tensor) {
        return Shape.of(TorchLibrary.runtime().tensors().sizes(tensor.address()));
    }

    static long[] sizes(Shape shape) {
        long[] sizes = new long[shape.rank()];
        for (int i = 0; i < sizes.length; i++) {
            sizes[i] = shape.dimension(i);
        }
        return sizes;
    }

    /// The bytes of all elements. A sparse tensor counts as a dense one.
    static long byteSize(Tensor tensor) {
        return tensor.numel() * of(tensor).byteSize();
    }
}
