package org.horovod4j.spi;

import java.util.List;

/// Lets the ranks of a backend exchange bytes and wait for each other on the CPU, for example to start NCCL.
///
/// Only for use inside [DeviceBackendProvider#create] or [HostBackendProvider#create], and the collectives
/// of the backend, on the thread that calls them. All ranks are in the same call then, so all make the same
/// calls here in the same order. If a rank is lost, a call throws; the backend lets the exception pass.
public interface HostExchange {
    /// This rank among those that the backend connects.
    int rank();

    int size();

    /// Throws if a rank is lost. For waits of the backend, such as that of `ncclCommInitRankConfig`.
    void check();

    /// Waits on the CPU for `event`, and releases it. Throws if a rank is lost.
    void await(DeviceEvent event);

    /// Returns when all ranks have called it: some microseconds on one host.
    void barrier();

    /// The bytes of all ranks, by rank. They may differ in length.
    List<byte[]> allgather(byte[] mine);
}
