package org.horovod4j.benchmarks.runtime;

import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.benchmarks.MemoryKind;

import java.util.ArrayList;
import java.util.List;

/// The memory of the gradients: one allocation for each tensor, or one block for all.
public enum GradientMemory {
    /// See [MemoryKind#HEAP].
    HEAP {
        @Override
        public List<Tensor> allocate(Communicator comm, List<Shape> shapes) {
            return allocateEach(MemoryKind.HEAP, comm, shapes);
        }
    },
    /// See [MemoryKind#NATIVE].
    NATIVE {
        @Override
        public List<Tensor> allocate(Communicator comm, List<Shape> shapes) {
            return allocateEach(MemoryKind.NATIVE, comm, shapes);
        }
    },
    /// One block of shared memory for each tensor.
    SHARED {
        @Override
        public List<Tensor> allocate(Communicator comm, List<Shape> shapes) {
            return allocateEach(MemoryKind.SHARED, comm, shapes);
        }
    },
    /// One block of shared memory for all tensors, side by side in model order, as in a framework
    /// with flat parameters.
    SLICED {
        @Override
        public List<Tensor> allocate(Communicator comm, List<Shape> shapes) {
            long elements = shapes.stream().mapToLong(Shape::elementCount).sum();
            Tensor block = comm.allocate(DataType.FLOAT32, Shape.of(elements));
            List<Tensor> slices = new ArrayList<>();
            long offset = 0;
            for (Shape shape : shapes) {
                long byteSize = shape.elementCount() * Float.BYTES;
                slices.add(
                        Tensor.of(
                                block.segment().asSlice(offset, byteSize),
                                DataType.FLOAT32,
                                shape));
                offset += byteSize;
            }
            return slices;
        }

        @Override
        GradientMemory flat() {
            return SHARED;
        }
    };

    /// Allocates float32 tensors of zeros.
    public abstract List<Tensor> allocate(Communicator comm, List<Shape> shapes);

    /// The same kind of memory for one flat tensor.
    GradientMemory flat() {
        return this;
    }

    private static List<Tensor> allocateEach(
            MemoryKind kind, Communicator comm, List<Shape> shapes) {
        return shapes.stream()
                .map(
                        shape ->
                                kind.allocate(comm, Math.toIntExact(shape.elementCount()))
                                        .reshape(shape.toArray()))
                .toList();
    }
}
