package org.horovod4j.spi;

import org.horovod4j.Device;

/// Finds the devices of one kind. `ServiceLoader` finds the implementations: the one for CUDA is in
/// `horovod4j-cuda`.
///
/// A provider is created in every job that has its jar, also on machines without such devices. So
/// its constructor does nothing, and no method but [#open] throws.
public interface DeviceProvider {
    Device.Kind kind();

    /// The number of devices that this process sees; 0 without a driver or native access.
    int count();

    /// What is there, or what is missing, for `--check-build`, the log and errors: one line without
    /// a full stop.
    String describe();

    /// Opens a device. Each rank of a process opens its own.
    ///
    /// @throws org.horovod4j.ConfigurationException if there is no such device, with the reason
    DeviceDriver open(int index);
}
