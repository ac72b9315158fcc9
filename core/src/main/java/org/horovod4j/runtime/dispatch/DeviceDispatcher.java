package org.horovod4j.runtime.dispatch;

import org.horovod4j.runtime.fusion.Batch;
import org.horovod4j.runtime.message.Request;
import org.horovod4j.runtime.queue.Operation;
import org.horovod4j.spi.DeviceEvent;
import org.jspecify.annotations.Nullable;

/// Runs batches of tensors on a device.
public interface DeviceDispatcher {
    /// Records when the tensors of an operation are ready, before it is submitted. On any thread.
    ///
    /// @return the event after which its inputs are ready; null if they are ready now
    /// @throws org.horovod4j.ConfigurationException if the device cannot be used
    @Nullable DeviceEvent recordReadyEvent(Request request, Operation<?> operation);

    /// Launches `batch`, and sets the results and the launched work of its entries.
    ///
    /// @param stamp identifies the batch; the same on all ranks
    /// @param divisor the divisor of an average
    void run(Batch batch, long stamp, int divisor);
}
