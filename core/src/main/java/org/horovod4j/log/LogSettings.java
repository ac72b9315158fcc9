package org.horovod4j.log;

import org.jspecify.annotations.Nullable;

/// What is logged, and how.
///
/// @param level what a line must have at least; null when nobody said, which is [#DEFAULT_LEVEL] on
///     standard error and up to the application where that has logging of its own
/// @param showsTime whether a line starts with the time
public record LogSettings(@Nullable LogLevel level, boolean showsTime) {
    /// The level on standard error unless another is set, as in Horovod.
    public static final LogLevel DEFAULT_LEVEL = LogLevel.WARNING;

    public static final LogSettings DEFAULT = new LogSettings(null, true);

    /// Whether a line may be logged at all.
    boolean allows(System.Logger.Level line) {
        return level == null || level.allows(line);
    }

    /// Whether a line is for standard error, where no application decides.
    ///
    /// @param unset what it must have at least when nobody said
    boolean prints(System.Logger.Level line, LogLevel unset) {
        return (level == null ? unset : level).allows(line);
    }
}
