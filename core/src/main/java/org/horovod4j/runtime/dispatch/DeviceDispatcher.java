package org.horovod4j.runtime.dispatch;

import org.horovod4j.runtime.fusion.Batch;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.queue.Operation;
import org.horovod4j.spi.DeviceEvent;
import org.jspecify.annotations.Nullable;

/// Runs batches of tensors on a device.
public interface DeviceDispatcher {
    /// Prepares an operation before it is submitted, on any thread.
    ///
    /// @return when its tensors are computed, or null if they are
    /// @throws org.horovod4j.ConfigurationException if the device cannot be used
    @Nullable DeviceEvent prepare(Request request, Operation<?> operation);

    /// Launches `batch`, stores the results in it, and sets the launched work of its entries.
    ///
    /// @param stamp identifies the batch; the same on all ranks
    /// @param divisor the divisor of an average
    void run(Batch batch, long stamp, int divisor);
}
