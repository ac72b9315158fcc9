package org.horovod4j.log;

import org.jspecify.annotations.Nullable;

import java.text.MessageFormat;
import java.util.Locale;
import java.util.ResourceBundle;

/// The logging library of an application. It prints in upper case, so tests see what reached it.
public final class UpperCaseLoggerFinder extends System.LoggerFinder {
    @Override
    public System.Logger getLogger(String name, Module module) {
        return new UpperCaseLogger(name);
    }

    private record UpperCaseLogger(String getName) implements System.Logger {
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
            printUpperCase(String.valueOf(message));
        }

        @Override
        public void log(
                Level level,
                @Nullable ResourceBundle bundle,
                @Nullable String format,
                @Nullable Object @Nullable ... arguments) {
            printUpperCase(
                    arguments == null
                            ? String.valueOf(format)
                            : MessageFormat.format(String.valueOf(format), arguments));
        }

        private static void printUpperCase(String text) {
            System.err.println(text.toUpperCase(Locale.ROOT));
        }
    }
}
