package org.horovod4j.launcher.yaml;

import org.horovod4j.option.SpellingSuggestion;

import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;
import java.util.SequencedMap;

/// A part of a YAML file. What a text means, a number or a truth, is up to whoever reads it: quotes
/// around a value change nothing.
public sealed interface YamlNode {
    YamlLocation location();

    /// A key without a value.
    record Empty(YamlLocation location) implements YamlNode {}

    /// One value, which may have several lines.
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

        /// The value of a key; empty when it has none.
        public Optional<YamlNode> find(String key) {
            return Optional.ofNullable(entries.get(key)).filter(it -> !(it instanceof Empty));
        }

        /// Refuses all other keys: a misspelt one would otherwise do nothing, unseen.
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

    /// This node, which must be a section.
    default Mapping asMapping() {
        return switch (this) {
            case Mapping mapping -> mapping;
            case Empty _ -> new Mapping(location(), new LinkedHashMap<>());
            case Scalar _, Sequence _ -> throw location().error("needs keys with values below it.");
        };
    }

    /// The value, which must be one and no list.
    default String asText() {
        return switch (this) {
            case Scalar scalar -> scalar.text();
            case Empty _, Sequence _, Mapping _ -> throw location().error("needs one value.");
        };
    }

    /// The value, which must be a whole number from `least` on.
    default int asCount(int least) {
        String text = asText().strip();
        if (!text.matches("\\d{1,6}") || Integer.parseInt(text) < least) {
            throw location()
                    .error("'%s' is not a whole number from %d to 999999.".formatted(text, least));
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
