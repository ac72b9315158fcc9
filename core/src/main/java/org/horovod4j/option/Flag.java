package org.horovod4j.option;

import java.util.function.UnaryOperator;

/// A flag on the launcher's command line that sets the variable of an option.
public sealed interface Flag {
    /// The name, without leading dashes.
    String name();

    /// A flag without a value, as in `--autotune`.
    ///
    /// @param value what the variable is set to
    record Switch(String name, String value) implements Flag {}

    /// A flag with a value, as in `--cycle-time-ms 5`.
    ///
    /// @param toVariable converts the value to that of the variable; throws
    ///     [org.horovod4j.ConfigurationException] when it is not allowed
    record Valued(String name, UnaryOperator<String> toVariable) implements Flag {}
}
