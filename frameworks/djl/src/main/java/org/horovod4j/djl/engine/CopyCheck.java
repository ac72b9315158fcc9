package org.horovod4j.djl.engine;

import ai.djl.ndarray.NDArray;

import java.lang.foreign.MemorySegment;

/// Checks that an array and memory can be copied into each other.
final class CopyCheck {
    private CopyCheck() {}

    /// Prevents an overrun.
    static void requireSameSize(String action, NDArray array, MemorySegment memory) {
        requireSameSize(action, array, memory.byteSize());
    }

    static void requireSameSize(String action, NDArray array, long byteSize) {
        long expected = DataTypes.byteSize(array);
        if (byteSize != expected) {
            throw new IllegalArgumentException(
                    "%s: the array %s of %s takes %d bytes, but the memory given has %d"
                            .formatted(
                                    action,
                                    array.getShape(),
                                    array.getDataType(),
                                    expected,
                                    byteSize));
        }
    }

    static void requireDense(NDArray array) {
        if (array.isSparse()) {
            throw new UnsupportedOperationException(
                    "cannot write all elements of the sparse array %s: make it dense first"
                            .formatted(array.getShape()));
        }
    }
}
