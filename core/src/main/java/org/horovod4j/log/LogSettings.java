package org.horovod4j.log;

import org.jspecify.annotations.Nullable;

/// What is logged, and how.
///
/// @param level the lowest level that is logged; null when not set: then [#DEFAULT_LEVEL] applies
///     on standard error, and an application with its own logging decides itself
/// @param showsTime whether a line starts with the time
public record LogSettings(@Nullable LogLevel level, boolean showsTime) {
    /// The level on standard error unless another is set, as in Horovod.
    public static final LogLevel DEFAULT_LEVEL = LogLevel.WARNING;

    public static final LogSettings DEFAULT = new LogSettings(null, true);

    /// Whether a line may be logged at all.
    boolean allows(System.Logger.Level line) {
        return level == null || level.allows(line);
    }

    /// Whether a line goes to standard error, if the application does not handle it.
    ///
    /// @param unset the level that applies when none is set
    boolean prints(System.Logger.Level line, LogLevel unset) {
        return (level == null ? unset : level).allows(line);
    }
}
