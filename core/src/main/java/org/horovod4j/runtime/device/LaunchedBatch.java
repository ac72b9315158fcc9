package org.horovod4j.runtime.device;

import org.horovod4j.DeviceStream;
import org.horovod4j.HorovodException;
import org.horovod4j.runtime.backend.BackendMonitor;
import org.horovod4j.runtime.queue.TensorEntry;
import org.horovod4j.spi.DeviceEvent;
import org.horovod4j.spi.DeviceWait;
import org.jspecify.annotations.Nullable;

import java.lang.ref.Reference;
import java.util.concurrent.locks.ReentrantLock;

/// A batch that was launched on a device, until its work there has ended.
final class LaunchedBatch implements TensorEntry.LaunchedWork, BackendMonitor.WatchedBatch {
    private final long number;
    private final ReentrantLock lock = new ReentrantLock();

    /// Null before all work is launched, and after the end, when the driver uses it again.
    private @Nullable DeviceEvent event;

    /// Keeps the tensors allocated, also if the program has dropped its handles.
    private @Nullable Object tensors;

    private volatile boolean ended;
    private volatile @Nullable HorovodException failure;

    /// A batch whose work is launched next.
    ///
    /// @param number of the batch
    LaunchedBatch(long number) {
        this.number = number;
    }

    private LaunchedBatch(HorovodException reason) {
        this.number = 0;
        fail(reason);
    }

    /// A batch that could not be launched on any rank.
    static LaunchedBatch failed(HorovodException reason) {
        return new LaunchedBatch(reason);
    }

    /// Records that all its work is launched.
    ///
    /// @param last after its work
    /// @param used tensors that its work uses
    void launched(DeviceEvent last, Object used) {
        lock.lock();
        try {
            if (ended) { // it failed while it was launched
                last.release();
            } else {
                event = last;
                tensors = used;
            }
        } finally {
            lock.unlock();
        }
    }

    @Override
    public long number() {
        return number;
    }

    @Override
    public boolean isEnded() {
        if (ended) {
            return true;
        }
        lock.lock();
        try {
            DeviceEvent last = event;
            // Work that is aborted completes too, but fail() has been called before.
            if (last != null && last.isComplete()) {
                end();
            }
        } catch (HorovodException e) {
            fail(e);
        } finally {
            lock.unlock();
        }
        return ended;
    }

    @Override
    public boolean await(long nanos) {
        return DeviceWait.await(this::isEnded, nanos);
    }

    @Override
    public void awaitOn(DeviceStream stream) {
        lock.lock();
        try {
            if (event != null) {
                event.awaitOn(stream);
            }
        } finally {
            lock.unlock();
        }
    }

    @Override
    public void fail(HorovodException reason) {
        lock.lock();
        try {
            if (!ended) {
                failure = reason;
                end();
            }
        } finally {
            lock.unlock();
        }
    }

    private void end() {
        DeviceEvent last = event;
        event = null;
        ended = true;
        try {
            if (last != null) {
                last.release();
            }
        } finally {
            Reference.reachabilityFence(tensors);
            tensors = null;
        }
    }

    @Override
    public @Nullable HorovodException failure() {
        return failure;
    }
}
