package org.horovod4j.compression;

import org.horovod4j.DeviceStream;
import org.horovod4j.Handle;
import org.horovod4j.HorovodException;
import org.horovod4j.OperationTimeoutException;
import org.horovod4j.Tensor;
import org.horovod4j.spi.DeviceEvent;
import org.jspecify.annotations.Nullable;

import java.lang.ref.Reference;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/// The handle of a tensor that work on a device computes: done when an event is reached.
final class LaunchedTensor implements Handle<Tensor> {
    private static final long POLL_NANOS = 20_000;

    private final Tensor tensor;
    private final ReentrantLock lock = new ReentrantLock();

    /// Null when it was reached: the driver uses it again then.
    private @Nullable DeviceEvent event;

    /// Stays allocated while the work uses it.
    private @Nullable Object used;

    /// @param event after the work
    /// @param used what else the work uses
    LaunchedTensor(Tensor tensor, DeviceEvent event, Object used) {
        this.tensor = tensor;
        this.event = event;
        this.used = used;
    }

    @Override
    public boolean isDone() {
        lock.lock();
        try {
            DeviceEvent pending = event;
            if (pending != null && pending.isComplete()) {
                event = null;
                try {
                    pending.release();
                } finally {
                    Reference.reachabilityFence(used);
                    used = null;
                }
            }
            return event == null;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public Tensor join() {
        boolean _ = await(Long.MAX_VALUE);
        return tensor;
    }

    @Override
    public Tensor join(Duration timeout) {
        if (!await(timeout.toNanos())) {
            throw new OperationTimeoutException(
                    "the work on %s has not ended in time".formatted(tensor.device()));
        }
        return tensor;
    }

    private boolean await(long nanos) {
        long start = System.nanoTime();
        boolean interrupted = false;
        while (!isDone()) {
            if (System.nanoTime() - start >= nanos) {
                break;
            }
            LockSupport.parkNanos(POLL_NANOS);
            interrupted |= Thread.interrupted(); // an interrupted thread does not park
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        return isDone();
    }

    @Override
    public Tensor awaitOn(DeviceStream stream) {
        lock.lock();
        try {
            if (event != null) {
                event.awaitOn(stream);
            }
            return tensor;
        } finally {
            lock.unlock();
        }
    }

    @Override
    public Optional<HorovodException> failure() {
        return Optional.empty();
    }
}
