package org.horovod4j.benchmarks;

import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;

import java.util.Arrays;
import java.util.Locale;

/// The memory of the caller's tensor. It determines how often the data is copied.
public enum MemoryKind {
    /// A `float[]`: copied in and out.
    HEAP {
        @Override
        public Tensor allocate(Communicator comm, int elements) {
            return Tensor.of(new float[elements]);
        }
    },
    /// Native memory of this process, as in most frameworks: copied in and out.
    NATIVE {
        @Override
        public Tensor allocate(Communicator comm, int elements) {
            return Tensor.zeros(DataType.FLOAT32, Shape.of(elements));
        }
    },
    /// Memory shared by the ranks of a host: not copied.
    SHARED {
        @Override
        public Tensor allocate(Communicator comm, int elements) {
            return comm.allocate(DataType.FLOAT32, Shape.of(elements));
        }
    };

    public abstract Tensor allocate(Communicator comm, int elements);

    public static MemoryKind parse(String text) {
        for (MemoryKind kind : values()) {
            if (kind.name().equalsIgnoreCase(text)) {
                return kind;
            }
        }
        throw new IllegalArgumentException(
                "there is no kind of tensor '%s': choose one of %s"
                        .formatted(text, Arrays.toString(values()).toLowerCase(Locale.ROOT)));
    }
}
