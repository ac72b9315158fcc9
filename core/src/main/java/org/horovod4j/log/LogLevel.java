package org.horovod4j.log;

import java.lang.System.Logger.Level;

/// Horovod's levels. A line is logged when its level is at least the one that is set.
public enum LogLevel {
    TRACE(Level.TRACE),
    DEBUG(Level.DEBUG),
    INFO(Level.INFO),
    WARNING(Level.WARNING),
    ERROR(Level.ERROR),
    /// Logs nothing: fatal errors are thrown.
    FATAL(Level.OFF);

    private final Level minimum;

    LogLevel(Level minimum) {
        this.minimum = minimum;
    }

    boolean allows(Level level) {
        return level != Level.OFF && level.getSeverity() >= minimum.getSeverity();
    }
}
