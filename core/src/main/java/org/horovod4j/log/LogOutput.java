package org.horovod4j.log;

import org.jspecify.annotations.Nullable;

import java.lang.System.Logger.Level;
import java.time.ZonedDateTime;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;

/// What all loggers of a process share: the settings, the rank, and the way out.
final class LogOutput {
    private final Predicate<String> isHandledByApplication;
    private final Consumer<String> out;
    private final Supplier<ZonedDateTime> clock;
    private final InheritableThreadLocal<@Nullable Integer> threadRank =
            new InheritableThreadLocal<>();
    private volatile Configuration configuration =
            new Configuration(LogSettings.DEFAULT, null); // one field, so that both change at once

    /// @param isHandledByApplication whether the application takes the lines of the logger of this name
    /// @param out takes whole lines
    /// @param clock asked at the first line, not before: to find the time zone takes 15 ms
    LogOutput(
            Predicate<String> isHandledByApplication,
            Consumer<String> out,
            Supplier<ZonedDateTime> clock) {
        this.isHandledByApplication = isHandledByApplication;
        this.out = out;
        this.clock = clock;
    }

    private record Configuration(LogSettings settings, @Nullable Integer rank) {}

    static LogOutput ofThisProcess() {
        // Asked for at each line, as an application may replace it.
        return new LogOutput(
                ApplicationLogging::handles, lines -> System.err.print(lines), ZonedDateTime::now);
    }

    void configure(LogSettings settings, @Nullable Integer rank) {
        configuration = new Configuration(settings, rank);
    }

    void setThreadRank(int rank) {
        threadRank.set(rank);
    }

    LogSettings settings() {
        return configuration.settings();
    }

    /// An application may set up its logging long after our first line, so this is not remembered.
    boolean isHandledByApplication(String logger) {
        return isHandledByApplication.test(logger);
    }

    void print(Level level, String message, @Nullable Throwable thrown) {
        Configuration now = configuration;
        Integer ofThread = threadRank.get();
        LogLine line =
                new LogLine(
                        now.settings().showsTime() ? clock.get() : null,
                        ofThread == null ? now.rank() : ofThread,
                        level,
                        message,
                        thrown);
        out.accept(line.text());
    }
}
