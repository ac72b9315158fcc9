package org.horovod4j.log;

import org.jspecify.annotations.Nullable;

import java.text.MessageFormat;
import java.util.ResourceBundle;

/// Logs what the settings allow, to the application's logging or to standard error.
final class RankLogger implements System.Logger {
    private final String name;
    private final LogOutput output;
    private final LogLevel defaultLevel;

    RankLogger(String name, LogOutput logOutput) {
        this(name, logOutput, LogSettings.DEFAULT_LEVEL);
    }

    /// @param defaultLevel the level on standard error when none is set
    RankLogger(String name, LogOutput logOutput, LogLevel defaultLevel) {
        this.name = name;
        this.output = logOutput;
        this.defaultLevel = defaultLevel;
    }

    @Override
    public String getName() {
        return name;
    }

    @Override
    public boolean isLoggable(Level level) {
        LogSettings settings = output.settings();
        if (!settings.allows(level)) { // the cheap check first
            return false;
        }
        return output.isHandledByApplication(name)
                ? application().isLoggable(level)
                : settings.prints(level, defaultLevel);
    }

    @Override
    public void log(
            Level level,
            @Nullable ResourceBundle bundle,
            @Nullable String message,
            @Nullable Throwable thrown) {
        if (!isLoggable(level)) {
            return;
        }
        if (output.isHandledByApplication(name)) {
            application().log(level, bundle, message, thrown);
        } else {
            output.print(level, localised(bundle, message), thrown);
        }
    }

    @Override
    public void log(
            Level level,
            @Nullable ResourceBundle bundle,
            @Nullable String format,
            @Nullable Object @Nullable ... arguments) {
        if (!isLoggable(level)) {
            return;
        }
        if (output.isHandledByApplication(name)) {
            application().log(level, bundle, format, arguments);
        } else {
            output.print(level, formatted(localised(bundle, format), arguments), null);
        }
    }

    /// Looked up for each line: the JDK caches it, and may create it again when the application
    /// reloads its configuration.
    private System.Logger application() {
        return System.getLogger(name);
    }

    private static String localised(@Nullable ResourceBundle bundle, @Nullable String message) {
        return bundle != null && message != null && bundle.containsKey(message)
                ? bundle.getString(message)
                : String.valueOf(message);
    }

    private static String formatted(String format, @Nullable Object @Nullable [] arguments) {
        if (arguments == null || arguments.length == 0) {
            return format; // without arguments, braces and quotes are plain text
        }
        try {
            return MessageFormat.format(format, arguments);
        } catch (IllegalArgumentException e) {
            return format + " (cannot be formatted: " + e.getMessage() + ")";
        }
    }
}
