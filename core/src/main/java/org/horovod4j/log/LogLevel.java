package org.horovod4j.log;

import java.lang.System.Logger.Level;

/// Horovod's levels: a line is logged when its own level is at least the one that is set.
public enum LogLevel {
    TRACE(Level.TRACE),
    DEBUG(Level.DEBUG),
    INFO(Level.INFO),
    WARNING(Level.WARNING),
    ERROR(Level.ERROR),
    /// Nothing at all: what is fatal here is thrown rather than logged.
    FATAL(Level.OFF);

    private final Level least;

    LogLevel(Level least) {
        this.least = least;
    }

    boolean lets(Level level) {
        return level != Level.OFF && level.getSeverity() >= least.getSeverity();
    }
}
