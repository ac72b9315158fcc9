package org.horovod4j.option;

import org.horovod4j.Device;

import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/// The backends that the user has chosen.
///
/// @param chosen the name of a backend, in capitals, by variable; without those that are not set
/// @param hierarchicalAllreduce see [BackendOptions#HIERARCHICAL_ALLREDUCE]
public record BackendSettings(Map<String, String> chosen, boolean hierarchicalAllreduce) {
    public BackendSettings {
        chosen = Map.copyOf(chosen);
    }

    static BackendSettings from(Environment environment) {
        Map<String, String> chosen = new TreeMap<>();
        for (Option<String> option : BackendOptions.backends()) {
            environment
                    .find(option)
                    .map(name -> name.toUpperCase(Locale.ROOT))
                    .filter(name -> !name.isBlank())
                    .ifPresent(name -> chosen.put(option.toString(), name));
        }
        return new BackendSettings(chosen, environment.get(BackendOptions.HIERARCHICAL_ALLREDUCE));
    }

    /// Those for one kind of memory, by variable.
    public Map<String, String> chosen(Device.Kind kind) {
        return chosen.entrySet().stream()
                .filter(each -> each.getKey().startsWith(prefix(kind)))
                .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue));
    }

    /// The variable that sets the backend of a collective.
    ///
    /// @param collective in capitals, as in `ALLREDUCE`; `OPERATIONS` for all
    public static String variableOf(Device.Kind kind, String collective) {
        return prefix(kind) + collective;
    }

    private static String prefix(Device.Kind kind) {
        return switch (kind) {
            case HOST -> "HOROVOD_CPU_";
            case CUDA -> "HOROVOD_GPU_";
        };
    }
}
