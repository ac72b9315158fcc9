package org.horovod4j.option;

import org.horovod4j.ConfigurationException;
import org.horovod4j.scheduler.SchedulerAssignment;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;

/// A snapshot of environment variables, read by declared options. A blank variable counts as not
/// set: scripts write `VARIABLE=` to unset one.
public final class Environment {
    private static final String PREFIX = "HOROVOD_";

    private final Map<String, String> variables;

    public Environment(Map<String, String> variables) {
        this.variables = Map.copyOf(variables);
    }

    /// The value that is set, or the default.
    ///
    /// @throws ConfigurationException when the value is not allowed, or there is neither
    public <T extends Comparable<T>> T get(Option<T> option) {
        Optional<T> set = find(option);
        Optional<T> value = set.isPresent() ? set : option.byDefault();
        if (value.isEmpty()) {
            throw new ConfigurationException(
                    "%s is not set and has no default. Its meaning: %s"
                            .formatted(option.variable(), option.help()));
        }
        return value.get();
    }

    /// The value that is set, if any.
    ///
    /// @throws ConfigurationException when the value is not allowed, unless the option is lenient
    public <T extends Comparable<T>> Optional<T> find(Option<T> option) {
        if (option.isLenient() && parseError(option).isPresent()) {
            return Optional.empty();
        }
        return read(option);
    }

    private <T extends Comparable<T>> Optional<T> read(Option<T> option) {
        for (String name : option.names()) {
            if (isSet(name)) {
                return Optional.of(option.parse(name, variables.getOrDefault(name, "")));
            }
        }
        return Optional.empty();
    }

    /// What is wrong with the value that is set, if anything.
    private Optional<String> parseError(Option<?> option) {
        try {
            read(option);
            return Optional.empty();
        } catch (ConfigurationException e) {
            return Optional.of(String.valueOf(e.getMessage()));
        }
    }

    /// The value of a variable that is not an option of Horovod4J, if it is set.
    Optional<String> variable(String name) {
        return isSet(name) ? Optional.ofNullable(variables.get(name)) : Optional.empty();
    }

    /// Whether the variable of an option, or one of its aliases, has a value.
    public boolean isSet(Option<?> option) {
        for (String name : option.names()) {
            if (isSet(name)) {
                return true;
            }
        }
        return false;
    }

    private boolean isSet(String name) {
        return !variables.getOrDefault(name, "").isBlank();
    }

    /// The rank that a scheduler or MPI launcher gave this process.
    Optional<SchedulerAssignment> assignment() {
        return SchedulerAssignment.from(variables, ProcessHandle.current());
    }

    /// Warnings about variables that have no effect, or not the intended one. Nothing else would
    /// show that.
    public List<String> warnings() {
        List<String> warnings = new ArrayList<>();
        List<String> known = new ArrayList<>();
        for (Option<?> option : Options.all()) {
            known.addAll(option.names());
        }
        for (String name : unknown(known)) {
            warning(name, known).ifPresent(warnings::add);
        }
        for (Option<?> option : Options.all()) {
            Optional<String> refusal = option.isLenient() ? parseError(option) : Optional.empty();
            if (refusal.isPresent()) {
                warnings.add(refusal.get() + " Until then it is ignored.");
            }
        }
        StallSettings.warning(this).ifPresent(warnings::add);
        return warnings;
    }

    /// Refuses variables that look like options of Horovod4J but are not.
    ///
    /// @throws ConfigurationException which names the first, and the option with the nearest name
    public void checkKnown() {
        List<String> known = new ArrayList<>();
        Options.all().forEach(option -> known.addAll(option.names()));
        for (String name : unknown(known)) {
            if (UnsupportedVariable.find(name).isEmpty()) {
                String question = SpellingSuggestion.question(name, known, PREFIX.length());
                throw new ConfigurationException(
                        "%s: Horovod4J has no such option.%s"
                                .formatted(
                                        name,
                                        question.isEmpty()
                                                ? " See docs/options.md for all options."
                                                : question));
            }
        }
    }

    /// Variables that look like options of Horovod4J but are not, in alphabetical order.
    private SortedSet<String> unknown(List<String> known) {
        SortedSet<String> unknown = new TreeSet<>();
        for (String name : variables.keySet()) {
            if (name.startsWith(PREFIX) && isSet(name) && !known.contains(name)) {
                unknown.add(name);
            }
        }
        return unknown;
    }

    private static Optional<String> warning(String name, List<String> known) {
        Optional<UnsupportedVariable> horovods = UnsupportedVariable.find(name);
        if (horovods.isPresent()) { // spelled correctly, so a suggestion would be wrong
            return horovods.get().warning(name);
        }
        return Optional.of(
                "%s is ignored: Horovod4J has no such option.%s"
                        .formatted(
                                name, SpellingSuggestion.question(name, known, PREFIX.length())));
    }
}
