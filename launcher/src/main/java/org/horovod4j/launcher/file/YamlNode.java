package org.horovod4j.launcher.file;

import org.horovod4j.ConfigurationException;
import org.horovod4j.option.SpellingSuggestion;

import java.nio.file.Path;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;
import java.util.SequencedMap;

/// A node of a YAML file. The caller decides whether a text is a number or a boolean; quotes make
/// no difference.
public sealed interface YamlNode {
    Location location();

    /// Where a node is.
    ///
    /// @param line the line number, from 1
    /// @param key the path of keys, joined by dots; empty for the file itself
    record Location(Path file, int line, String key) {
        /// The location of a key under this one.
        Location child(String name, int keyLine) {
            return new Location(file, keyLine, key.isEmpty() ? name : key + "." + name);
        }

        Location atLine(int other) {
            return new Location(file, other, key);
        }

        /// The line alone, for messages that name the key themselves.
        public Location withoutKey() {
            return new Location(file, line, "");
        }

        /// An error at this location, for the caller to throw.
        ConfigurationException error(String message) {
            return new ConfigurationException(this + ": " + message);
        }

        @Override
        public String toString() {
            return "%s:%d%s".formatted(file, line, key.isEmpty() ? "" : ": " + key);
        }
    }

    /// A key without a value.
    record Empty(Location location) implements YamlNode {}

    /// A single value, possibly of several lines.
    record Scalar(Location location, String text) implements YamlNode {}

    record Sequence(Location location, List<YamlNode> items) implements YamlNode {
        public Sequence {
            items = List.copyOf(items);
        }
    }

    /// Keys with values, in the order of the file.
    record Mapping(Location location, SequencedMap<String, YamlNode> entries) implements YamlNode {
        public Mapping {
            entries = Collections.unmodifiableSequencedMap(new LinkedHashMap<>(entries));
        }

        /// The value of a key; empty if it has none.
        public Optional<YamlNode> find(String key) {
            return Optional.ofNullable(entries.get(key)).filter(it -> !(it instanceof Empty));
        }

        /// The value of a key, which must be a whole number of at least `min`.
        public Optional<Integer> count(String key, int min) {
            return find(key).map(value -> value.asCount(min));
        }

        /// The mapping under a key, which has only known keys; an empty one without the key.
        public Mapping section(String key, Collection<String> known) {
            Mapping section = find(key).orElseGet(() -> new Empty(location)).asMapping();
            section.requireKnownKeys(known);
            return section;
        }

        /// Rejects all other keys, because a misspelt key would have no effect.
        public void requireKnownKeys(Collection<String> known) {
            entries.forEach(
                    (key, value) -> {
                        if (!known.contains(key)) {
                            throw value.location().withoutKey().error(unknown(key, known));
                        }
                    });
        }

        private String unknown(String key, Collection<String> known) {
            return "unknown key '%s'%s.%s Known here: %s."
                    .formatted(
                            key,
                            location.key().isEmpty() ? "" : " in " + location.key(),
                            SpellingSuggestion.question(key, known, 0),
                            String.join(", ", known));
        }
    }

    /// An error about this node, for the caller to throw.
    default ConfigurationException error(String message) {
        return location().error(message);
    }

    /// This node as a mapping.
    default Mapping asMapping() {
        return switch (this) {
            case Mapping mapping -> mapping;
            case Empty _ -> new Mapping(location(), new LinkedHashMap<>());
            case Scalar _, Sequence _ -> throw error("needs keys with values below it.");
        };
    }

    /// The value, which must not be a list or mapping.
    default String asText() {
        return switch (this) {
            case Scalar scalar -> scalar.text();
            case Empty _, Sequence _, Mapping _ -> throw error("needs one value.");
        };
    }

    /// The value, which must be a whole number of at least `min`.
    default int asCount(int min) {
        String text = asText().strip();
        if (!text.matches("\\d{1,6}") || Integer.parseInt(text) < min) {
            throw error("'%s' is not a whole number from %d to 999999.".formatted(text, min));
        }
        return Integer.parseInt(text);
    }

    /// The value, which must be `true` or `false`.
    default boolean asBoolean() {
        return switch (asText().strip()) {
            case "true", "True", "yes", "on" -> true;
            case "false", "False", "no", "off" -> false;
            default -> throw error("'%s' is not true or false.".formatted(asText()));
        };
    }
}
