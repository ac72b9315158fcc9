package org.horovod4j.dl4j;

import org.horovod4j.ConfigurationException;
import org.horovod4j.Tensor;
import org.nd4j.linalg.api.buffer.DataType;
import org.nd4j.linalg.api.ndarray.INDArray;
import org.nd4j.linalg.api.ops.executioner.OpExecutioner.ExecutionerType;
import org.nd4j.linalg.factory.Nd4j;

import java.lang.foreign.MemorySegment;
import java.util.stream.LongStream;

/// The memory of ND4J arrays as tensors, without a copy.
public final class ArrayTensors {
    private ArrayTensors() {}

    /// A view of the elements of an array. It is valid as long as the array is.
    ///
    /// Its shape is that of the array; one dimension for a vector. In an array of order `f` the first dimension
    /// is the one whose elements are side by side, so the dimensions of the view are reversed.
    ///
    /// @param array whose elements are side by side in memory, as in `params()`
    /// @throws IllegalArgumentException when they are not, or have a type that ranks do not exchange
    /// @throws ConfigurationException when ND4J keeps arrays on a GPU
    @SuppressWarnings("restricted") // the address is that of ND4J's buffer, which has this size
    public static Tensor view(INDArray array) {
        if (Nd4j.getExecutioner().type() != ExecutionerType.NATIVE_CPU) {
            throw new ConfigurationException(
                    """
                    ND4J computes with its backend %s, but Horovod4J exchanges only arrays in main memory
                    Use nd4j-native in place of nd4j-cuda."""
                            .formatted(Nd4j.getExecutioner().type()));
        }
        if (!isContiguous(array)) {
            throw new IllegalArgumentException(
                    "the elements of an array of shape %s are not side by side in memory: pass array.dup()"
                            .formatted(array.shapeInfoToString()));
        }
        org.horovod4j.DataType type = dataType(array.dataType());
        long address = array.data().address() + array.offset() * type.byteSize();
        return Tensor.of(
                MemorySegment.ofAddress(address).reinterpret(array.length() * type.byteSize()),
                type,
                shapeInMemory(array));
    }

    private static long[] shapeInMemory(INDArray array) {
        if (array.isVectorOrScalar()) {
            return new long[] {array.length()};
        }
        long[] shape = array.shape().clone();
        return array.ordering() == 'c'
                ? shape
                : LongStream.range(0, shape.length)
                        .map(i -> shape[shape.length - 1 - (int) i])
                        .toArray();
    }

    static boolean isContiguous(INDArray array) {
        return array.isVectorOrScalar()
                ? array.length() <= 1 || array.reshape(array.length()).stride(0) == 1
                : array.elementWiseStride() == 1;
    }

    private static org.horovod4j.DataType dataType(DataType type) {
        return switch (type) {
            case FLOAT -> org.horovod4j.DataType.FLOAT32;
            case DOUBLE -> org.horovod4j.DataType.FLOAT64;
            case HALF -> org.horovod4j.DataType.FLOAT16;
            case BFLOAT16 -> org.horovod4j.DataType.BFLOAT16;
            case INT -> org.horovod4j.DataType.INT32;
            case LONG -> org.horovod4j.DataType.INT64;
            default ->
                    throw new IllegalArgumentException(
                            "arrays of type %s are not exchanged: use FLOAT, DOUBLE, HALF, BFLOAT16, INT or LONG"
                                    .formatted(type));
        };
    }
}
