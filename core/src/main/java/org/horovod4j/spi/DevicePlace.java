package org.horovod4j.spi;

import org.horovod4j.Device;

/// The device of a rank.
///
/// @param jobRank the rank in the job, for messages
/// @param host the name of its host
/// @param domain the same text for ranks that can map each other's memory
/// @param device the device, as its process counts them
/// @param identity the same text for the same device in all processes of the host
public record DevicePlace(int jobRank, String host, String domain, Device device, String identity) {
    /// Whether both ranks use one device.
    public boolean isSameDevice(DevicePlace other) {
        return host.equals(other.host) && identity.equals(other.identity);
    }
}
