package org.horovod4j.benchmarks;

import org.horovod4j.Communicator;
import org.horovod4j.DataType;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;

import java.util.Arrays;
import java.util.Locale;

/// Where the caller's numbers lie, which decides how often they are copied.
public enum MemoryKind {
    /// In a `float[]`: copied in and out.
    HEAP {
        @Override
        public Tensor allocate(Communicator comm, int elements) {
            return Tensor.of(new float[elements]);
        }
    },
    /// In native memory of this process, as most frameworks have it: copied in and out.
    NATIVE {
        @Override
        public Tensor allocate(Communicator comm, int elements) {
            return Tensor.zeros(DataType.FLOAT32, Shape.of(elements));
        }
    },
    /// In memory that the ranks of a host share: not copied at all.
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
