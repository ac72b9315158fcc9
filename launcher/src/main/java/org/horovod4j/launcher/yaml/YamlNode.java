package org.horovod4j.launcher.yaml;

import org.horovod4j.option.Spelling;

import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Optional;
import java.util.SequencedMap;

/// A part of a YAML file. What a text means, a number or a truth, is up to whoever reads it: quotes
/// around a value change nothing.
public sealed interface YamlNode {
    Where where();

    /// A key without a value.
    record Nothing(Where where) implements YamlNode {}

    /// One value, which may have several lines.
    record Text(Where where, String text) implements YamlNode {}

    record Items(Where where, List<YamlNode> items) implements YamlNode {
        public Items {
            items = List.copyOf(items);
        }
    }

    /// Keys with values, in the order of the file.
    record Section(Where where, SequencedMap<String, YamlNode> entries) implements YamlNode {
        public Section {
            entries = Collections.unmodifiableSequencedMap(new LinkedHashMap<>(entries));
        }

        /// The value of a key; empty when it has none.
        public Optional<YamlNode> find(String key) {
            return Optional.ofNullable(entries.get(key)).filter(it -> !(it instanceof Nothing));
        }

        /// Refuses all other keys: a misspelt one would otherwise do nothing, unseen.
        public void allow(Collection<String> known) {
            entries.forEach(
                    (key, value) -> {
                        if (!known.contains(key)) {
                            throw new Where(value.where().file(), value.where().line(), "")
                                    .error(unknown(key, known));
                        }
                    });
        }

        private String unknown(String key, Collection<String> known) {
            return "unknown key '%s'%s.%s Known here: %s."
                    .formatted(
                            key,
                            where.key().isEmpty() ? "" : " in " + where.key(),
                            Spelling.nearest(key, known, 0)
                                    .map(meant -> " Did you mean %s?".formatted(meant))
                                    .orElse(""),
                            String.join(", ", known));
        }
    }

    /// This node, which must be a section.
    default Section asSection() {
        return switch (this) {
            case Section section -> section;
            case Nothing _ -> new Section(where(), new LinkedHashMap<>());
            case Text _, Items _ -> throw where().error("needs keys with values below it.");
        };
    }

    /// The value, which must be one and no list.
    default String asText() {
        return switch (this) {
            case Text text -> text.text();
            case Nothing _, Items _, Section _ -> throw where().error("needs one value.");
        };
    }

    /// The value, which must be a whole number from `least` on.
    default int asCount(int least) {
        String text = asText().strip();
        if (!text.matches("\\d{1,6}") || Integer.parseInt(text) < least) {
            throw where().error(
                            "'%s' is not a whole number from %d to 999999.".formatted(text, least));
        }
        return Integer.parseInt(text);
    }

    /// The value, which must be `true` or `false`.
    default boolean asTruth() {
        return switch (asText().strip()) {
            case "true", "True", "yes", "on" -> true;
            case "false", "False", "no", "off" -> false;
            default -> throw where().error("'%s' is not true or false.".formatted(asText()));
        };
    }
}
