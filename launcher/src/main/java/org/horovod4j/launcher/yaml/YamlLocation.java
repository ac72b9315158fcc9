package org.horovod4j.launcher.yaml;

import org.horovod4j.ConfigurationException;

import java.nio.file.Path;

/// A place in a file.
///
/// @param line counted from 1
/// @param key the keys that lead there, joined by dots; empty for the file itself
public record YamlLocation(Path file, int line, String key) {
    /// The place of a key of this section.
    YamlLocation child(String name, int keyLine) {
        return new YamlLocation(file, keyLine, key.isEmpty() ? name : key + "." + name);
    }

    YamlLocation atLine(int other) {
        return new YamlLocation(file, other, key);
    }

    /// An error about this place, to be thrown.
    public ConfigurationException error(String message) {
        return new ConfigurationException(this + ": " + message);
    }

    @Override
    public String toString() {
        return "%s:%d%s".formatted(file, line, key.isEmpty() ? "" : ": " + key);
    }
}
