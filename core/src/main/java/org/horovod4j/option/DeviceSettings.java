package org.horovod4j.option;

import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/// The backends that the user has chosen for tensors on a GPU.
///
/// @param chosen the name of a backend, in capitals, by variable; without those that are not set
public record DeviceSettings(Map<String, String> chosen) {
    public DeviceSettings {
        chosen = Map.copyOf(chosen);
    }

    static DeviceSettings from(Environment environment) {
        Map<String, String> chosen = new TreeMap<>();
        for (Option<?> option : DeviceOptions.all()) {
            environment
                    .find(option)
                    .map(value -> value.toString().toUpperCase(Locale.ROOT))
                    .filter(name -> !name.isBlank())
                    .ifPresent(name -> chosen.put(option.toString(), name));
        }
        return new DeviceSettings(chosen);
    }

    /// The backend that is set for a collective.
    ///
    /// @param collective in capitals, as in `ALLREDUCE`
    public Optional<String> backendOf(String collective) {
        return Optional.ofNullable(chosen.get(variableOf(collective)));
    }

    /// The backend that is set for all collectives.
    public Optional<String> backend() {
        return Optional.ofNullable(chosen.get(DeviceOptions.GPU_OPERATIONS.toString()));
    }

    /// The variable that sets the backend of a collective.
    public static String variableOf(String collective) {
        return "HOROVOD_GPU_" + collective;
    }
}
