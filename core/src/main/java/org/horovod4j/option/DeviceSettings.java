package org.horovod4j.option;

import java.util.Locale;
import java.util.Map;
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
        for (Option<String> option : DeviceOptions.backends()) {
            environment
                    .find(option)
                    .map(name -> name.toUpperCase(Locale.ROOT))
                    .filter(name -> !name.isBlank())
                    .ifPresent(name -> chosen.put(option.toString(), name));
        }
        return new DeviceSettings(chosen);
    }

    /// The variable that sets the backend of a collective.
    public static String variableOf(String collective) {
        return "HOROVOD_GPU_" + collective;
    }
}
