package org.horovod4j.djl.engine;

import ai.djl.ndarray.NDArray;

import java.lang.foreign.MemorySegment;

/// Checks the size of memory against that of an array, to prevent an overrun.
final class SizeCheck {
    private SizeCheck() {}

    static void requireSameSize(String action, NDArray array, MemorySegment memory) {
        long expected = DataTypes.byteSize(array);
        if (memory.byteSize() != expected) {
            throw new IllegalArgumentException(
                    "%s: the array %s of %s takes %d bytes, but the memory given has %d"
                            .formatted(
                                    action,
                                    array.getShape(),
                                    array.getDataType(),
                                    expected,
                                    memory.byteSize()));
        }
    }
}
