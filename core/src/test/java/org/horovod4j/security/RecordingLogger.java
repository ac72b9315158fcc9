package org.horovod4j.security;

import org.jspecify.annotations.Nullable;

import java.text.MessageFormat;
import java.util.List;
import java.util.ResourceBundle;
import java.util.concurrent.CopyOnWriteArrayList;

/// Records what is logged.
final class RecordingLogger implements System.Logger {
    private final List<String> lines = new CopyOnWriteArrayList<>();

    List<String> lines() {
        return lines;
    }

    @Override
    public String getName() {
        return "recording";
    }

    @Override
    public boolean isLoggable(Level level) {
        return true;
    }

    @Override
    public void log(
            Level level,
            @Nullable ResourceBundle bundle,
            @Nullable String message,
            @Nullable Throwable thrown) {
        lines.add(level + " " + message);
    }

    @Override
    public void log(
            Level level,
            @Nullable ResourceBundle bundle,
            @Nullable String format,
            @Nullable Object @Nullable ... arguments) {
        lines.add(level + " " + MessageFormat.format(String.valueOf(format), arguments));
    }
}
