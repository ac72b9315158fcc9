package org.horovod4j.launcher;

import org.horovod4j.option.Environment;
import org.horovod4j.option.Options;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;

/// Where archives of classes are kept: where [Options#CLASS_ARCHIVES] says, else in the user's cache.
final class ArchiveFolder {
    private static final String NONE = "none";

    private ArchiveFolder() {}

    /// The folder, or nothing when archives are not wanted or the user has no home.
    static Optional<Path> of(Map<String, String> environment, Map<String, String> flags) {
        Map<String, String> variables = new HashMap<>(environment);
        variables.putAll(flags);
        Optional<String> chosen = new Environment(variables).find(Options.CLASS_ARCHIVES);
        if (chosen.isPresent()) {
            return chosen.filter(text -> !text.equals(NONE)).map(Path::of);
        }
        String cache = variables.getOrDefault("XDG_CACHE_HOME", "");
        String home = variables.getOrDefault("HOME", "");
        if (cache.isBlank() && home.isBlank()) {
            return Optional.empty();
        }
        return Optional.of(
                (cache.isBlank() ? Path.of(home, ".cache") : Path.of(cache)).resolve("horovod4j"));
    }
}
