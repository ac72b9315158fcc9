package org.horovod4j.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;

import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.djl.engine.DataTypes;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/// Allocates gradients in memory shared by the ranks of a host.
///
/// Gradients that follow each other in a backward pass are adjacent in memory: slices of one block,
/// in reverse order of the parameters. Collectives are faster on adjacent tensors than on separate
/// blocks.
final class GradientArena {
    /// The alignment of vectors and cache lines.
    private static final long ALIGNMENT = 64;

    private GradientArena() {}

    /// A tensor for each array. Its memory lives as long as the tensor is reachable.
    static List<Tensor> allocate(Communicator communicator, List<NDArray> arrays) {
        Map<DataType, Long> used = new EnumMap<>(DataType.class);
        arrays.forEach(array -> used.merge(type(array), stride(array), Long::sum));
        Map<DataType, Tensor> blocks = new EnumMap<>(DataType.class);
        used.forEach(
                (type, count) -> blocks.put(type, communicator.allocate(type, Shape.of(count))));
        used.replaceAll((_, _) -> 0L);
        List<Tensor> slices = new ArrayList<>();
        for (NDArray array : arrays.reversed()) {
            DataType type = type(array);
            long from = used.merge(type, stride(array), Long::sum) - stride(array);
            MemorySegment block = Objects.requireNonNull(blocks.get(type)).segment();
            MemorySegment slice = block.asSlice(from * type.byteSize(), DataTypes.byteSize(array));
            slices.addFirst(Tensor.of(slice, type, DataTypes.shape(array)));
        }
        return slices;
    }

    private static DataType type(NDArray array) {
        return DataTypes.of(array.getDataType());
    }

    /// The number of elements between two slices.
    private static long stride(NDArray array) {
        long aligned = ALIGNMENT / type(array).byteSize();
        return Math.ceilDiv(array.size(), aligned) * aligned;
    }

    /// Keeps the slice reachable as long as the array's manager is open, or until its gradient
    /// moves to another slice: the engine keeps the gradient there, even after training.
    static void retain(NDArray array, Tensor slice) {
        String key = "horovod4j-gradient-" + array.getUid();
        NDManager manager = array.getManager();
        manager.detachInternal(key);
        manager.attachInternal(key, new Retained(slice));
    }

    /// A reference to a slice, and so to its block.
    private record Retained(Tensor slice) implements AutoCloseable {
        /// Frees nothing: other managers may have gradients in the same block.
        @Override
        public void close() {}
    }
}
