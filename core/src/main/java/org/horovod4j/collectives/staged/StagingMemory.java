package org.horovod4j.collectives.staged;

import org.horovod4j.DataType;
import org.horovod4j.Shape;
import org.horovod4j.Tensor;
import org.horovod4j.spi.DeviceDriver;
import org.jspecify.annotations.Nullable;

import java.lang.foreign.MemorySegment;

/// Main memory for the tensors of one collective at a time, whose pages are locked.
///
/// It grows to what the last collective used: to lock pages takes longer than a copy, so that is done
/// for sizes that repeat. What does not fit is in ordinary memory, from and to which copies are slower.
final class StagingMemory implements AutoCloseable {
    /// Pages that are locked cannot be used by other processes.
    static final long MAX_BYTES = 256L * 1024 * 1024;

    private static final long ALIGNMENT = 64;

    private final DeviceDriver driver;
    private @Nullable Pinned pinned;

    /// The bytes that the current collective has taken, of this memory or not.
    private long taken;

    private record Pinned(MemorySegment memory, DeviceDriver.PinnedMemory pages) {}

    StagingMemory(DeviceDriver driver) {
        this.driver = driver;
    }

    /// Begins a collective. No work uses what was taken before.
    void begin() {
        if (taken > capacity() && taken <= MAX_BYTES) {
            close();
            MemorySegment memory = ordinary(Math.min(MAX_BYTES, Long.highestOneBit(taken) * 2));
            pinned = new Pinned(memory, driver.pin(memory));
        }
        taken = 0;
    }

    /// Memory for this collective, with any content.
    MemorySegment take(long byteSize) {
        long start = taken;
        taken += Math.ceilDiv(byteSize, ALIGNMENT) * ALIGNMENT;
        Pinned current = pinned;
        return current != null && taken <= capacity()
                ? current.memory.asSlice(start, byteSize)
                : ordinary(byteSize);
    }

    private static MemorySegment ordinary(long byteSize) {
        return Tensor.zeros(DataType.UINT8, Shape.of(byteSize)).segment();
    }

    private long capacity() {
        Pinned current = pinned;
        return current == null ? 0 : current.memory.byteSize();
    }

    @Override
    public void close() {
        Pinned current = pinned;
        if (current != null) {
            pinned = null;
            current.pages.close();
        }
    }
}
