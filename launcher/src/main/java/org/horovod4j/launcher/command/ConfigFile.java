package org.horovod4j.launcher.command;

import org.horovod4j.ConfigurationException;
import org.horovod4j.launcher.yaml.YamlFile;
import org.horovod4j.launcher.yaml.YamlLocation;
import org.horovod4j.launcher.yaml.YamlNode;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.SequencedMap;
import java.util.function.Consumer;

/// The file of `--config-file`, with Horovod's keys. Each key corresponds to a flag and has the
/// same effect.
///
/// @param controller the controller, if the file names one
/// @param variables the environment variables it sets
/// @param notices messages about settings without effect
record ConfigFile(
        Optional<ControllerName> controller, Map<String, String> variables, List<String> notices) {
    static final ConfigFile EMPTY = new ConfigFile(Optional.empty(), Map.of(), List.of());

    private static final String CONTROLLER = "controller";

    ConfigFile {
        variables = Map.copyOf(variables);
        notices = List.copyOf(notices);
    }

    /// @throws ConfigurationException if the file cannot be read or is invalid
    static ConfigFile read(Path file) {
        YamlNode.Mapping root = YamlFile.read(file);
        List<String> known = new ArrayList<>(List.of(CONTROLLER));
        known.addAll(ConfigKeys.SECTIONS.keySet());
        root.requireKnownKeys(known);

        Map<String, String> variables = new LinkedHashMap<>();
        List<String> notices = new ArrayList<>();
        ConfigKeys.SECTIONS.forEach(
                (name, keys) ->
                        root.find(name)
                                .map(YamlNode::asMapping)
                                .ifPresent(
                                        mapping -> read(mapping, keys, variables, notices::add)));
        return new ConfigFile(root.find(CONTROLLER).map(ControllerName::of), variables, notices);
    }

    private static void read(
            YamlNode.Mapping mapping,
            SequencedMap<String, ConfigKeys.Key> keys,
            Map<String, String> variables,
            Consumer<String> notices) {
        mapping.requireKnownKeys(keys.keySet());
        keys.forEach(
                (name, key) ->
                        mapping.find(name)
                                .ifPresent(
                                        node -> {
                                            switch (key) {
                                                case ConfigKeys.Key.Value(OptionFlag flag) ->
                                                        set(flag, node, variables);
                                                case ConfigKeys.Key.BooleanValue(
                                                                OptionFlag yes,
                                                                OptionFlag no) ->
                                                        set(
                                                                node.asBoolean() ? yes : no,
                                                                node,
                                                                variables);
                                                case ConfigKeys.Key.Ignored(IgnoredFlag flag) ->
                                                        ignore(flag, node, notices);
                                            }
                                        }));
    }

    private static void set(OptionFlag flag, YamlNode node, Map<String, String> variables) {
        try {
            variables.put(flag.option().variable(), flag.value(node.asText()));
        } catch (ConfigurationException e) {
            throw new ConfigurationException(
                    located(node.location(), String.valueOf(e.getMessage())), e);
        }
    }

    /// The value `false` needs no message: the feature is off anyway.
    private static void ignore(IgnoredFlag flag, YamlNode node, Consumer<String> notices) {
        if (!node.asText().equals("false")) {
            notices.accept(flag.notice(node.location().toString()));
        }
    }

    private static String located(YamlLocation location, String message) {
        return message.startsWith(location.file() + ":") ? message : location + ": " + message;
    }

    /// Horovod's names of the two controllers.
    enum ControllerName {
        /// In Horovod, Gloo; here, horovodrun itself.
        GLOO,
        MPI;

        /// @throws ConfigurationException if it is neither
        static ControllerName of(YamlNode node) {
            return switch (node.asText().strip().toLowerCase(Locale.ROOT)) {
                case "gloo" -> GLOO;
                case "mpi" -> MPI;
                default ->
                        throw node.location()
                                .error(
                                        "there is no controller '%s'. Use gloo, for horovodrun itself, or mpi."
                                                .formatted(node.asText()));
            };
        }
    }
}
