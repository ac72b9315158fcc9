package org.horovod4j.spi;

import org.horovod4j.Device;

/// Creates a [HostBackend]. Programs may have their own on the class path.
public interface HostBackendProvider extends BackendProvider {
    @Override
    default Device.Kind kind() {
        return Device.Kind.HOST;
    }

    @Override
    Class<? extends HostBackend> backendType();

    /// Creates the backend of a process set. All ranks of the set call this at the same time, so it may
    /// use [HostContext#host] to exchange what the ranks need of each other.
    ///
    /// @throws org.horovod4j.HorovodException if it fails, with the words of the library
    HostBackend create(HostContext context);
}
