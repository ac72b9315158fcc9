package org.horovod4j.option;

import java.util.function.UnaryOperator;

/// A word on the launcher's command line that sets the variable of an option.
public sealed interface Flag {
    /// The word, without dashes in front.
    String name();

    /// Stands alone, as in `--autotune`.
    ///
    /// @param value what the variable is set to
    record Switch(String name, String value) implements Flag {}

    /// Is followed by a value, as in `--cycle-time-ms 5`.
    ///
    /// @param toVariable what the variable is set to for a value; throws
    ///     [org.horovod4j.ConfigurationException] when that is not allowed
    record Valued(String name, UnaryOperator<String> toVariable) implements Flag {}
}
