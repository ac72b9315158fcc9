package org.horovod4j.runtime.device;

import org.horovod4j.ConfigurationException;
import org.horovod4j.Device;
import org.horovod4j.collectives.staged.StagedBackendProvider;
import org.horovod4j.spi.DeviceBackendProvider;
import org.horovod4j.spi.DeviceProvider;

import java.util.Comparator;
import java.util.List;
import java.util.ServiceLoader;
import java.util.stream.Stream;

/// The drivers and backends for devices that are on the class path or module path.
///
/// @param devices find the devices of a kind
/// @param backends create backends, those with the highest preference first
public record DeviceLibraries(List<DeviceProvider> devices, List<DeviceBackendProvider> backends) {
    public DeviceLibraries {
        devices = List.copyOf(devices);
        backends =
                Stream.concat(
                                backends.stream(),
                                devices.stream()
                                        .map(each -> new StagedBackendProvider(each.kind())))
                        .sorted(
                                Comparator.comparingInt(DeviceBackendProvider::preference)
                                        .reversed()
                                        .thenComparing(DeviceBackendProvider::name))
                        .toList();
    }

    /// Finds them by `ServiceLoader`, next to this class.
    public static DeviceLibraries load() {
        return new DeviceLibraries(find(DeviceProvider.class), find(DeviceBackendProvider.class));
    }

    private static <T> List<T> find(Class<T> service) {
        return ServiceLoader.load(service, service.getClassLoader()).stream()
                .map(ServiceLoader.Provider::get)
                .toList();
    }

    /// Finds the devices of a kind.
    ///
    /// @throws ConfigurationException if no jar for it is there
    DeviceProvider provider(Device.Kind kind) {
        return devices.stream()
                .filter(each -> each.kind() == kind)
                .findFirst()
                .orElseThrow(
                        () ->
                                new ConfigurationException(
                                        """
                                        tensors on a %s device need horovod4j-%s, which is not on the class path
                                        Add org.horovod4j:horovod4j-%s to the dependencies of the program."""
                                                .formatted(kind, kind, kind)));
    }

    /// The backends for a kind of device, those with the highest preference first.
    List<DeviceBackendProvider> backends(Device.Kind kind) {
        return backends.stream().filter(each -> each.kind() == kind).toList();
    }
}
