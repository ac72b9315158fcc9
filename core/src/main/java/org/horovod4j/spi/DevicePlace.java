package org.horovod4j.spi;

import org.horovod4j.Device;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/// Where a rank has its tensors: on a device, or in main memory for a [HostBackend].
///
/// @param jobRank the rank in the job, for messages
/// @param host the name of its host
/// @param domain the same text for ranks that can map each other's memory
/// @param device the device, as its process counts them, or [Device#HOST]
/// @param identity the same text for the same device in all processes of the host; empty for main memory
/// @param processInfo what the backends of its process publish, by name: see
///     [BackendProvider#processInfo]
public record DevicePlace(
        int jobRank,
        String host,
        String domain,
        Device device,
        String identity,
        Map<String, String> processInfo) {
    public DevicePlace {
        processInfo = Map.copyOf(processInfo);
    }

    public DevicePlace(int jobRank, String host, String domain, Device device, String identity) {
        this(jobRank, host, domain, device, identity, Map.of());
    }

    /// Whether both ranks use one device.
    public boolean isSameDevice(DevicePlace other) {
        return host.equals(other.host) && identity.equals(other.identity);
    }

    /// The ranks that share a device with another one, by device; empty if each has its own.
    public static List<List<DevicePlace>> shared(List<DevicePlace> places) {
        return places.stream()
                .collect(
                        Collectors.groupingBy(
                                place -> List.of(place.host, place.identity),
                                LinkedHashMap::new,
                                Collectors.toList()))
                .values()
                .stream()
                .filter(ranks -> ranks.size() > 1)
                .toList();
    }

    /// What the process of this rank publishes for a backend; empty if nothing.
    public String processInfo(String backend) {
        return processInfo.getOrDefault(backend, "");
    }
}
