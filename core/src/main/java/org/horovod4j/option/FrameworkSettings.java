package org.horovod4j.option;

import org.horovod4j.ConfigurationException;

/// What the adapters of frameworks go by.
///
/// They are no part of a rank's runtime, and of a framework's library a process has one, whatever worlds
/// it joins: so these belong to the process.
///
/// @param gradientHooks whether a framework tells of each gradient while it computes the others
public record FrameworkSettings(HookChoice gradientHooks) {
    /// Reads the settings.
    ///
    /// @throws ConfigurationException when a value is not allowed
    public static FrameworkSettings from(Environment environment) {
        return new FrameworkSettings(environment.get(Options.GRADIENT_HOOKS));
    }

    /// Those that this process was started with. `Hvd.init` has checked them.
    ///
    /// @throws ConfigurationException when a value is not allowed
    public static FrameworkSettings ofThisProcess() {
        return from(new Environment(System.getenv()));
    }
}
