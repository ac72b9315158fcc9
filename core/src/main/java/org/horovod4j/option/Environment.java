package org.horovod4j.option;

import org.horovod4j.ConfigurationException;
import org.horovod4j.scheduler.Assignment;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

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
    /// @throws ConfigurationException when it is not allowed, unless the option is lenient
    public <T extends Comparable<T>> Optional<T> find(Option<T> option) {
        if (option.isLenient() && refusal(option).isPresent()) {
            return Optional.empty();
        }
        return read(option);
    }

    private <T extends Comparable<T>> Optional<T> read(Option<T> option) {
        return option.names()
                .filter(this::isSet)
                .findFirst()
                .map(name -> option.parse(name, variables.getOrDefault(name, "")));
    }

    /// What is wrong with the value that is set, if something is.
    private Optional<String> refusal(Option<?> option) {
        try {
            read(option);
            return Optional.empty();
        } catch (ConfigurationException e) {
            return Optional.of(String.valueOf(e.getMessage()));
        }
    }

    /// Whether the variable of an option, or one of its aliases, has a value.
    public boolean isSet(Option<?> option) {
        return option.names().anyMatch(this::isSet);
    }

    private boolean isSet(String name) {
        return !variables.getOrDefault(name, "").isBlank();
    }

    /// What a scheduler or MPI launcher has said of this process.
    Optional<Assignment> assignment() {
        return Assignment.from(variables, ProcessHandle.current());
    }

    /// What the user should hear of variables that have no effect, or not the one that was wanted:
    /// there is no other sign of it.
    public List<String> warnings() {
        return Stream.of(unknown(), unreadable(), StallSettings.warning(this).stream())
                .flatMap(warnings -> warnings)
                .toList();
    }

    /// Variables that look like options of ours but are none.
    private Stream<String> unknown() {
        List<String> known = Options.all().stream().flatMap(Option::names).toList();
        return variables.keySet().stream()
                .filter(name -> name.startsWith(PREFIX) && isSet(name) && !known.contains(name))
                .sorted()
                .flatMap(name -> warning(name, known).stream());
    }

    private static Optional<String> warning(String name, List<String> known) {
        Optional<HorovodOnly> horovods = HorovodOnly.find(name);
        if (horovods.isPresent()) { // spelt right, so any other name would be a wrong guess
            return horovods.get().warning(name);
        }
        String ignored = "%s is ignored: Horovod4J has no such option".formatted(name);
        return Optional.of(
                Spelling.nearest(name, known, PREFIX.length())
                        .map(meant -> "%s. Did you mean %s?".formatted(ignored, meant))
                        .orElse(ignored + "."));
    }

    private Stream<String> unreadable() {
        return Options.all().stream()
                .filter(Option::isLenient)
                .flatMap(option -> refusal(option).stream())
                .map(refusal -> refusal + " Until then it counts as not set.");
    }
}
