package org.horovod4j.launcher;

import org.horovod4j.ConfigurationException;
import org.horovod4j.option.Environment;
import org.horovod4j.option.Option;
import org.horovod4j.option.Options;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/// The environment variables that a program sets for a job, checked as they are set.
final class LaunchVariables {
    private static final String PREFIX = "HOROVOD_";

    private final Map<String, String> variables = new LinkedHashMap<>();

    void set(String name, String value) {
        variables.put(name, value);
    }

    /// Sets options by the names of their variables. What a process would only warn about is
    /// refused here, since the program can be corrected.
    void options(Map<String, String> options) {
        for (String name : options.keySet()) {
            if (!name.startsWith(PREFIX)) {
                throw new ConfigurationException(
                        "options: '%s' is not an option of Horovod4J. Use environment(…) for other"
                                        .formatted(name)
                                + " variables.");
            }
        }
        Environment given = new Environment(options);
        given.checkKnown();
        for (Option<?> option : Options.all()) {
            if (given.isSet(option)) {
                checkIsUserOption(option);
            }
            for (String name : option.names()) {
                String text = options.getOrDefault(name, "");
                if (!text.isBlank()) {
                    var _ = option.parse(name, text); // throws when the value is not allowed
                }
            }
        }
        List<String> warnings = given.warnings();
        if (!warnings.isEmpty()) {
            throw new ConfigurationException("options: " + warnings.getFirst());
        }
        variables.putAll(options);
    }

    void environment(Map<String, String> environment) {
        for (String name : environment.keySet()) {
            if (name.startsWith(PREFIX)) {
                throw new ConfigurationException(
                        "environment: '%s' looks like an option. Use options(…) for it, which"
                                        .formatted(name)
                                + " checks it.");
            }
            if (name.isEmpty() || name.contains("=")) {
                throw new ConfigurationException(
                        "environment: '%s' cannot be the name of a variable.".formatted(name));
            }
        }
        variables.putAll(environment);
    }

    Map<String, String> all() {
        return new LinkedHashMap<>(variables);
    }

    private static void checkIsUserOption(Option<?> option) {
        if (option.flags().isEmpty()) {
            throw new ConfigurationException(
                    "options: %s is set by the launcher itself, for each process. Leave it out."
                            .formatted(option.variable()));
        }
    }
}
