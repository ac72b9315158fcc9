package org.horovod4j.launcher.yaml;

import org.horovod4j.ConfigurationException;

import java.nio.file.Path;

/// A location in a file.
///
/// @param line the line number, from 1
/// @param key the path of keys, joined by dots; empty for the file itself
public record YamlLocation(Path file, int line, String key) {
    /// The location of a key under this one.
    YamlLocation child(String name, int keyLine) {
        return new YamlLocation(file, keyLine, key.isEmpty() ? name : key + "." + name);
    }

    YamlLocation atLine(int other) {
        return new YamlLocation(file, other, key);
    }

    /// An error at this location, for the caller to throw.
    public ConfigurationException error(String message) {
        return new ConfigurationException(this + ": " + message);
    }

    @Override
    public String toString() {
        return "%s:%d%s".formatted(file, line, key.isEmpty() ? "" : ": " + key);
    }
}
