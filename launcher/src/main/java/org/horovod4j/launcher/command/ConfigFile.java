package org.horovod4j.launcher.command;

import org.horovod4j.launcher.file.YamlFile;
import org.horovod4j.launcher.file.YamlNode;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/// The file of `--config-file`, with Horovod's keys. Each key corresponds to a flag and has the
/// same effect.
///
/// @param isMpi whether it chooses mpirun as the controller
/// @param variables the environment variables it sets
/// @param notices messages about settings without effect
record ConfigFile(boolean isMpi, Map<String, String> variables, List<String> notices) {
    /// Stands for a launch without `--config-file`.
    static final ConfigFile NONE = new ConfigFile(false, Map.of(), List.of());

    private static final String CONTROLLER = "controller";

    ConfigFile {
        variables = Map.copyOf(variables);
        notices = List.copyOf(notices);
    }

    /// @throws org.horovod4j.ConfigurationException if the file cannot be read or is invalid
    static ConfigFile read(Path file) {
        YamlNode.Mapping root = YamlFile.read(file);
        List<String> known = new ArrayList<>(List.of(CONTROLLER));
        known.addAll(ConfigKey.sections());
        root.requireKnownKeys(known);
        Map<String, String> variables = new LinkedHashMap<>();
        List<String> notices = new ArrayList<>();
        for (String name : ConfigKey.sections()) {
            List<ConfigKey> keys = ConfigKey.of(name);
            YamlNode.Mapping section =
                    root.section(name, keys.stream().map(ConfigKey::name).toList());
            for (ConfigKey key : keys) {
                section.find(key.name()).ifPresent(node -> key.read(node, variables, notices));
            }
        }
        return new ConfigFile(
                root.find(CONTROLLER).map(ConfigFile::isMpi).orElse(false), variables, notices);
    }

    /// Horovod's other controller is Gloo; here, horovodrun itself.
    private static boolean isMpi(YamlNode controller) {
        return switch (controller.asText().strip().toLowerCase(Locale.ROOT)) {
            case "gloo" -> false;
            case "mpi" -> true;
            default ->
                    throw controller.error(
                            "there is no controller '%s'. Use gloo, for horovodrun itself, or mpi."
                                    .formatted(controller.asText()));
        };
    }
}
