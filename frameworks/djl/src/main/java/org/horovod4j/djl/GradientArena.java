package org.horovod4j.djl;

import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.NDManager;

import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.djl.engine.DataTypes;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;

/// Allocates gradients in memory shared by the ranks of a host, or on a device.
///
/// Gradients that follow each other in a backward pass are adjacent in memory: slices of one block,
/// in reverse order of the parameters. Collectives are faster on adjacent tensors than on separate
/// blocks.
final class GradientArena {
    /// The alignment of vectors and cache lines, and enough for the kernels of a GPU.
    private static final long ALIGNMENT = 64;

    private GradientArena() {}

    /// A tensor for each array. Its memory lives as long as the tensor is reachable.
    ///
    /// @param device where all of them are
    static List<Tensor> allocate(Communicator communicator, Device device, List<NDArray> arrays) {
        Map<DataType, Long> used = new EnumMap<>(DataType.class);
        arrays.forEach(array -> used.merge(type(array), stride(array), Long::sum));
        Map<DataType, Tensor> blocks = new EnumMap<>(DataType.class);
        used.forEach((type, count) -> blocks.put(type, block(communicator, device, type, count)));
        used.replaceAll((_, _) -> 0L);
        List<Tensor> slices = new ArrayList<>();
        for (NDArray array : arrays.reversed()) {
            DataType type = type(array);
            long from = used.merge(type, stride(array), Long::sum) - stride(array);
            slices.addFirst(slice(Objects.requireNonNull(blocks.get(type)), from, array));
        }
        return slices;
    }

    private static Tensor block(
            Communicator communicator, Device device, DataType type, long count) {
        return device.isHost()
                ? communicator.allocate(type, Shape.of(count))
                : communicator.allocate(device, type, Shape.of(count));
    }

    private static Tensor slice(Tensor block, long from, NDArray array) {
        DataType type = block.dataType();
        Shape shape = DataTypes.shape(array);
        long offset = from * type.byteSize();
        if (block.device().isHost()) {
            MemorySegment memory = block.segment().asSlice(offset, DataTypes.byteSize(array));
            return Tensor.of(memory, type, shape);
        }
        return Tensor.of(block.device(), block.deviceAddress() + offset, type, shape, block);
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
