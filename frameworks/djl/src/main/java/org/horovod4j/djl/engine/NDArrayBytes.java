package org.horovod4j.djl.engine;

import ai.djl.Device;
import ai.djl.ndarray.NDArray;
import ai.djl.ndarray.index.NDIndex;

import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/// Copies elements from and to an array through DJL's API.
final class NDArrayBytes {
    private NDArrayBytes() {}

    static void read(NDArray array, MemorySegment into) {
        if (array.isSparse()) {
            try (NDArray dense = array.toDense()) {
                read(dense, into);
            }
        } else if (array.getDevice().equals(Device.cpu())) {
            into.copyFrom(MemorySegment.ofBuffer(array.toByteBuffer()));
        } else {
            // toByteBuffer of PyTorch keeps its copy on the host until the manager is closed
            try (NDArray onHost = array.toDevice(Device.cpu(), true)) {
                read(onHost, into);
            }
        }
    }

    /// `NDArray.set` of PyTorch would keep using the buffer, which is freed. Other engines copy it.
    static void write(NDArray array, MemorySegment from) {
        if (array.getManager().getEngine().getEngineName().equals("PyTorch")) {
            setElements(array, from);
        } else {
            array.set(buffer(array, from));
        }
    }

    private static void setElements(NDArray array, MemorySegment from) {
        try (NDArray source =
                array.getManager()
                        .create(buffer(array, from), array.getShape(), array.getDataType())) {
            array.set(new NDIndex("..."), source);
        }
    }

    private static ByteBuffer buffer(NDArray array, MemorySegment from) {
        CopyCheck.requireDense(array);
        if (from.byteSize() > Integer.MAX_VALUE) {
            throw new UnsupportedOperationException(
                    "cannot copy the %d bytes of the array %s: DJL copies at most 2 GiB at a time"
                            .formatted(from.byteSize(), array.getShape()));
        }
        ByteBuffer buffer =
                ByteBuffer.allocateDirect((int) from.byteSize()).order(ByteOrder.nativeOrder());
        MemorySegment.ofBuffer(buffer).copyFrom(from);
        return buffer;
    }
}
