package org.horovod4j.spi;

import org.horovod4j.DeviceStream;

/// A point in the work of a stream. [DeviceDriver#record] creates it.
///
/// Any thread may call its methods, one at a time.
public interface DeviceEvent {
    /// Whether the stream has reached this point. Does not wait.
    ///
    /// @throws org.horovod4j.HorovodException if work on the device has failed
    boolean isComplete();

    /// Lets `stream` wait for this point: what is launched on `stream` from now on runs after it.
    /// Does not wait itself.
    void awaitOn(DeviceStream stream);

    /// Waits on the CPU and releases the event. For use while a backend closes: inside a collective use
    /// [HostExchange#await], which notices lost ranks.
    ///
    /// @param deadline when to stop waiting, of [System#nanoTime]
    /// @return whether the stream has reached this point
    default boolean awaitUntil(long deadline) {
        try {
            return DeviceWait.await(this::isComplete, deadline - System.nanoTime());
        } finally {
            release();
        }
    }

    /// Frees the event, or keeps it for the next [DeviceDriver#record]. It is not used afterwards.
    /// Streams that wait for it continue to do so.
    void release();
}
