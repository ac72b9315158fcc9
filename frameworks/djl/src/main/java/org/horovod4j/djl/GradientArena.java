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

/// Memory for gradients that the ranks of a host can reach.
///
/// Neighbours in a backward pass are neighbours in memory: slices of one block, in the reverse
/// order of the parameters, which collectives go through faster than through blocks of their own.
final class GradientArena {
    /// What vectors and cache lines like.
    private static final long ALIGNMENT = 64;

    private GradientArena() {}

    /// A slot for each array, which lives as long as somebody holds it.
    static List<Tensor> allocate(Communicator communicator, List<NDArray> arrays) {
        Map<DataType, Long> used = new EnumMap<>(DataType.class);
        arrays.forEach(array -> used.merge(type(array), stride(array), Long::sum));
        Map<DataType, Tensor> blocks = new EnumMap<>(DataType.class);
        used.forEach(
                (type, count) -> blocks.put(type, communicator.allocate(type, Shape.of(count))));
        used.replaceAll((_, _) -> 0L);
        List<Tensor> slots = new ArrayList<>();
        for (NDArray array : arrays.reversed()) {
            DataType type = type(array);
            long from = used.merge(type, stride(array), Long::sum) - stride(array);
            MemorySegment block = Objects.requireNonNull(blocks.get(type)).segment();
            MemorySegment slot = block.asSlice(from * type.byteSize(), DataTypes.byteSize(array));
            slots.addFirst(Tensor.of(slot, type, DataTypes.shape(array)));
        }
        return slots;
    }

    private static DataType type(NDArray array) {
        return DataTypes.of(array.getDataType());
    }

    /// Elements from one slot to the next.
    private static long stride(NDArray array) {
        long aligned = ALIGNMENT / type(array).byteSize();
        return Math.ceilDiv(array.size(), aligned) * aligned;
    }

    /// Holds the slot for as long as the array's manager lives, or until its gradient has moved to
    /// another one: the engine keeps the gradient there, whether or not anybody still trains.
    static void retain(NDArray array, Tensor slot) {
        String key = "horovod4j-gradient-" + array.getUid();
        NDManager manager = array.getManager();
        manager.detachInternal(key);
        manager.attachInternal(key, new Retained(slot));
    }

    /// Holds a slot, and so the block that it is a slice of, for the garbage collector to see.
    private record Retained(Tensor slot) implements AutoCloseable {
        /// Nothing is freed here, as other managers may hold gradients in the same block.
        @Override
        public void close() {}
    }
}
