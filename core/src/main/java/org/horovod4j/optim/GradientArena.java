package org.horovod4j.optim;

import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;

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
public final class GradientArena {
    /// The alignment of vectors and cache lines, and enough for the kernels of a GPU.
    private static final long ALIGNMENT = 64;

    private GradientArena() {}

    /// The type and shape of a gradient.
    public record Spec(DataType dataType, Shape shape) {
        private long byteSize() {
            return shape.elementCount() * dataType.byteSize();
        }

        /// The number of elements between two slices.
        private long stride() {
            long aligned = ALIGNMENT / dataType.byteSize();
            return Math.ceilDiv(shape.elementCount(), aligned) * aligned;
        }
    }

    /// A tensor for each gradient. Its memory lives as long as the tensor is reachable.
    ///
    /// @param device where all of them are
    public static List<Tensor> allocate(
            Communicator communicator, Device device, List<Spec> specs) {
        Map<DataType, Long> used = new EnumMap<>(DataType.class);
        specs.forEach(spec -> used.merge(spec.dataType, spec.stride(), Long::sum));
        Map<DataType, Tensor> blocks = new EnumMap<>(DataType.class);
        used.forEach((type, count) -> blocks.put(type, block(communicator, device, type, count)));
        used.replaceAll((_, _) -> 0L);
        List<Tensor> slices = new ArrayList<>();
        for (Spec spec : specs.reversed()) {
            long from = used.merge(spec.dataType, spec.stride(), Long::sum) - spec.stride();
            slices.addFirst(slice(Objects.requireNonNull(blocks.get(spec.dataType)), from, spec));
        }
        return slices;
    }

    private static Tensor block(
            Communicator communicator, Device device, DataType type, long count) {
        return device.isHost()
                ? communicator.allocate(type, Shape.of(count))
                : communicator.allocate(device, type, Shape.of(count));
    }

    private static Tensor slice(Tensor block, long from, Spec spec) {
        long offset = from * spec.dataType.byteSize();
        if (block.device().isHost()) {
            MemorySegment memory = block.segment().asSlice(offset, spec.byteSize());
            return Tensor.of(memory, spec.dataType, spec.shape);
        }
        return Tensor.of(
                block.device(), block.deviceAddress() + offset, spec.dataType, spec.shape, block);
    }
}
