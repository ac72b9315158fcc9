package org.horovod4j.option;

import org.horovod4j.ConfigurationException;

import java.util.List;
import java.util.Map;
import java.util.Optional;

/// A snapshot of environment variables, read by declared options. A variable that is blank counts
/// as not set, as scripts write `VARIABLE=` to take one away.
public final class Environment {
    private static final String PREFIX = "HOROVOD_";

    private final Map<String, String> variables;

    public Environment(Map<String, String> variables) {
        this.variables = Map.copyOf(variables);
    }

    /// The value that is set, or the default.
    ///
    /// @throws ConfigurationException when it is not allowed, or there is neither
    public <T extends Comparable<T>> T get(Option<T> option) {
        return find(option)
                .or(option::byDefault)
                .orElseThrow(
                        () ->
                                new ConfigurationException(
                                        "%s is not set, and has no default. Its meaning: %s"
                                                .formatted(option.variable(), option.help())));
    }

    /// The value that is set, if one is.
    ///
    /// @throws ConfigurationException when it is not allowed
    public <T extends Comparable<T>> Optional<T> find(Option<T> option) {
        return option.names()
                .filter(this::isSet)
                .findFirst()
                .map(name -> option.parse(name, variables.getOrDefault(name, "")));
    }

    /// Whether the variable of an option, or one of its aliases, has a value.
    public boolean isSet(Option<?> option) {
        return option.names().anyMatch(this::isSet);
    }

    private boolean isSet(String name) {
        return !variables.getOrDefault(name, "").isBlank();
    }

    /// A warning for each variable that looks like an option but is none, since a misspelt option
    /// has no effect and no other sign.
    public List<String> unknown() {
        List<String> known = Options.all().stream().flatMap(Option::names).toList();
        return variables.keySet().stream()
                .filter(name -> name.startsWith(PREFIX) && !known.contains(name))
                .sorted()
                .map(name -> warning(name, known))
                .toList();
    }

    private static String warning(String name, List<String> known) {
        String ignored = "%s is ignored: Horovod4J has no such option".formatted(name);
        return Spelling.nearest(name, known, PREFIX.length())
                .map(meant -> "%s. Did you mean %s?".formatted(ignored, meant))
                .orElse(ignored + ".");
    }
}
