package org.horovod4j.launcher;

import org.horovod4j.ConfigurationException;
import org.horovod4j.option.Environment;
import org.horovod4j.option.Option;
import org.horovod4j.option.Options;

import java.util.Map;

/// Checks the options that the processes of a job inherit from the environment.
final class InheritedOptions {
    private InheritedOptions() {}

    /// Rejects, once and before anything is started, what every process would reject. Options
    /// without a flag are skipped: the launcher sets them for each process.
    ///
    /// @param variables the environment of the processes
    /// @throws ConfigurationException when a value is not allowed
    static void check(Map<String, String> variables) {
        Environment options = new Environment(variables);
        for (Option<?> option : Options.all()) {
            if (!option.flags().isEmpty()) {
                var _ = options.find(option); // throws when the value is not allowed
            }
        }
    }
}
