package org.horovod4j.spi;

import org.horovod4j.DataType;
import org.horovod4j.Device;
import org.horovod4j.ReduceOp;

import java.util.List;
import java.util.Optional;

/// What core must know of a backend to choose it. `ServiceLoader` finds the implementations of
/// [HostBackendProvider] and [DeviceBackendProvider].
///
/// The ranks of a process set choose backends together: for tensors in main memory when the set starts,
/// for those of a device at their first operation there. For each collective it is the provider with
/// the highest [#preference] that all ranks have, that supports these ranks and whose backend has
/// that collective; or the one that an option names. A provider is created in every job that has its
/// jar: its constructor does nothing, and no method but `create` throws.
public interface BackendProvider {
    /// The name in options, in the log and in traces, in capitals: `NCCL`. No other backend for this
    /// kind of device has it.
    String name();

    /// The devices it works on; main memory for a [HostBackend].
    Device.Kind kind();

    /// Backends with a higher number are tried first. Those of core have 0.
    int preference();

    /// The class of its backends. It has the collectives whose nested interfaces of [Backend] it
    /// implements.
    Class<? extends Backend> backendType();

    /// Whether its backends reduce tensors of this type with this op. If not, core asks the next
    /// backend.
    default boolean reduces(DataType dataType, ReduceOp op) {
        return true;
    }

    /// What is there, as in `NCCL 2.28.3 in libnccl.so.2`, or what is missing: one line without a
    /// full stop.
    String describe();

    /// Whether its library is there and can be used by this process.
    boolean isAvailable();

    /// What this process publishes to the other ranks for [#unsupportedReason], such as the value of
    /// a variable of the library: see [DevicePlace#processInfo(String)]. Empty if there is nothing.
    default String processInfo() {
        return "";
    }

    /// Why it cannot be used for these ranks; empty if it can. All ranks call this with the
    /// same list, and must return the same. So it depends on the list alone, and not on anything else
    /// in this process.
    Optional<String> unsupportedReason(List<DevicePlace> places);
}
