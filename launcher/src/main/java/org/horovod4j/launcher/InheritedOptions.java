package org.horovod4j.launcher;

import org.horovod4j.ConfigurationException;
import org.horovod4j.option.Environment;
import org.horovod4j.option.Option;
import org.horovod4j.option.Options;

import java.util.Map;

/// The options that the processes of a job find in the environment, where nobody has looked yet.
final class InheritedOptions {
    private InheritedOptions() {}

    /// Refuses what every process would refuse, once and before any is started. Those without a
    /// flag are no matter here: the launcher sets them itself for each process.
    ///
    /// @param variables what they find
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
