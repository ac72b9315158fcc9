package org.horovod4j.spi;

import org.horovod4j.DeviceStream;

import java.util.List;

/// What a [DeviceBackend] works with: one process set on one rank, and the rank's device.
///
/// @param driver of the device
/// @param stream on which the backend launches its work, at least the first part: see [DeviceBackend#resultStream]
/// @param host the ranks that the backend connects: a [HostCollectives], unless another backend uses this
///     one inside each host
/// @param places the devices of all ranks of the set, by rank in the set
/// @param activities names what the backend launches, for the timeline
public record DeviceContext(
        DeviceDriver driver,
        DeviceStream stream,
        HostExchange host,
        List<DevicePlace> places,
        Activities activities) {
    public DeviceContext {
        places = List.copyOf(places);
    }

    /// Receives the activities of a launch.
    @FunctionalInterface
    public interface Activities {
        /// What was launched since the last call, or since the start of the collective, was this.
        /// Costs one memory read while no trace is recorded.
        ///
        /// ```
        /// driver.pack(...);
        /// activities.launched("MEMCPY_IN_FUSION_BUFFER");
        /// ncclAllReduce(...);
        /// activities.launched("NCCL_ALLREDUCE");
        /// ```
        ///
        /// @param activity with the name of Horovod's timeline where Horovod has the same
        void launched(String activity);
    }
}
