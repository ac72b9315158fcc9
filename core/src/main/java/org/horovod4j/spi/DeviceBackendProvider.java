package org.horovod4j.spi;

/// Creates a [DeviceBackend], such as that of NCCL in `horovod4j-nccl`.
public interface DeviceBackendProvider extends BackendProvider {
    @Override
    Class<? extends DeviceBackend> backendType();

    /// Creates the backend of a process set. All ranks of the set call this while they run the same
    /// batch, so it may use [DeviceContext#host] to exchange what the ranks need of each other.
    ///
    /// @throws org.horovod4j.HorovodException if it fails, with the words of the library
    DeviceBackend create(DeviceContext context);
}
