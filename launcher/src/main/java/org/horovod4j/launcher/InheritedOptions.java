package org.horovod4j.launcher;

import org.horovod4j.ConfigurationException;
import org.horovod4j.option.Environment;
import org.horovod4j.option.Option;
import org.horovod4j.option.Options;

import java.util.HashMap;
import java.util.Map;

/// The options that the processes of a job find in the environment, where nobody has looked yet.
final class InheritedOptions {
    private InheritedOptions() {}

    /// Refuses what every process would refuse, once and before any is started. Those without a
    /// flag are no matter here: the launcher sets them itself for each process.
    ///
    /// @param set what counts more than the environment
    /// @throws ConfigurationException when a value is not allowed
    static void check(Map<String, String> environment, Map<String, String> set) {
        Map<String, String> all = new HashMap<>(environment);
        all.putAll(set);
        Environment options = new Environment(all);
        for (Option<?> option : Options.all()) {
            if (!option.flags().isEmpty()) {
                var _ = options.find(option); // throws when the value is not allowed
            }
        }
    }
}
