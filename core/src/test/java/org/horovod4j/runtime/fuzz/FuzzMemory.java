package org.horovod4j.runtime.fuzz;

import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.testing.SampleTensors;

import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentHashMap;

/// Allocates the tensors of a rank: in native memory, in an array, or in shared memory, where each
/// name reuses its piece.
final class FuzzMemory {
    private static final int KINDS = 3;

    private final long seed;
    private final Map<BufferKey, Tensor> shared = new ConcurrentHashMap<>();

    private record BufferKey(int processSet, String name, DataType type, Shape shape) {}

    FuzzMemory(long seed) {
        this.seed = seed;
    }

    /// A copy of `tensor` that an operation may overwrite.
    Tensor copyOf(Communicator communicator, String name, Tensor tensor) {
        return switch (new SplittableRandom(seed + name.hashCode()).nextInt(KINDS)) {
            case 0 -> SampleTensors.copy(tensor);
            case 1 -> SampleTensors.onHeap(tensor);
            default -> piece(communicator, name, tensor);
        };
    }

    private Tensor piece(Communicator communicator, String name, Tensor tensor) {
        BufferKey key =
                new BufferKey(
                        communicator.processSet().id(), name, tensor.dataType(), tensor.shape());
        Tensor piece = shared.computeIfAbsent(key, _ -> SampleTensors.shared(communicator, tensor));
        piece.segment().copyFrom(tensor.segment());
        return piece;
    }
}
