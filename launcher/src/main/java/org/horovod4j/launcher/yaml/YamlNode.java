package org.horovod4j.launcher.yaml;

import org.horovod4j.option.SpellingSuggestion;

import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;
import java.util.SequencedMap;

/// A node of a YAML file. The caller decides whether a text is a number or a boolean; quotes make
/// no difference.
public sealed interface YamlNode {
    YamlLocation location();

    /// A key without a value.
    record Empty(YamlLocation location) implements YamlNode {}

    /// A single value, possibly of several lines.
    record Scalar(YamlLocation location, String text) implements YamlNode {}

    record Sequence(YamlLocation location, List<YamlNode> items) implements YamlNode {
        public Sequence {
            items = List.copyOf(items);
        }
    }

    /// Keys with values, in the order of the file.
    record Mapping(YamlLocation location, SequencedMap<String, YamlNode> entries)
            implements YamlNode {
        public Mapping {
            entries = Collections.unmodifiableSequencedMap(new LinkedHashMap<>(entries));
        }

        /// The value of a key; empty if it has none.
        public Optional<YamlNode> find(String key) {
            return Optional.ofNullable(entries.get(key)).filter(it -> !(it instanceof Empty));
        }

        /// Rejects all other keys, because a misspelt key would have no effect.
        public void requireKnownKeys(Collection<String> known) {
            entries.forEach(
                    (key, value) -> {
                        if (!known.contains(key)) {
                            throw new YamlLocation(
                                            value.location().file(), value.location().line(), "")
                                    .error(unknown(key, known));
                        }
                    });
        }

        private String unknown(String key, Collection<String> known) {
            return "unknown key '%s'%s.%s Known here: %s."
                    .formatted(
                            key,
                            location.key().isEmpty() ? "" : " in " + location.key(),
                            SpellingSuggestion.nearest(key, known, 0)
                                    .map(meant -> " Did you mean %s?".formatted(meant))
                                    .orElse(""),
                            String.join(", ", known));
        }
    }

    /// This node as a mapping.
    default Mapping asMapping() {
        return switch (this) {
            case Mapping mapping -> mapping;
            case Empty _ -> new Mapping(location(), new LinkedHashMap<>());
            case Scalar _, Sequence _ -> throw location().error("needs keys with values below it.");
        };
    }

    /// The value, which must not be a list or mapping.
    default String asText() {
        return switch (this) {
            case Scalar scalar -> scalar.text();
            case Empty _, Sequence _, Mapping _ -> throw location().error("needs one value.");
        };
    }

    /// The value, which must be a whole number of at min `min`.
    default int asCount(int min) {
        String text = asText().strip();
        if (!text.matches("\\d{1,6}") || Integer.parseInt(text) < min) {
            throw location()
                    .error("'%s' is not a whole number from %d to 999999.".formatted(text, min));
        }
        return Integer.parseInt(text);
    }

    /// The value, which must be `true` or `false`.
    default boolean asBoolean() {
        return switch (asText().strip()) {
            case "true", "True", "yes", "on" -> true;
            case "false", "False", "no", "off" -> false;
            default -> throw location().error("'%s' is not true or false.".formatted(asText()));
        };
    }
}
