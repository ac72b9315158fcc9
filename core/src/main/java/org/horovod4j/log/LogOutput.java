package org.horovod4j.log;

import org.jspecify.annotations.Nullable;

import java.lang.System.Logger.Level;
import java.time.ZonedDateTime;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;

/// What all loggers of a process share: settings, rank and output.
final class LogOutput {
    private final Predicate<String> isHandledByApplication;
    private final Consumer<String> out;
    private final Supplier<ZonedDateTime> clock;
    private final InheritableThreadLocal<@Nullable Integer> threadRank =
            new InheritableThreadLocal<>();
    private volatile Configuration configuration =
            new Configuration(LogSettings.DEFAULT, null); // one field, so both change together

    /// @param isHandledByApplication whether the application handles the logger of this name
    /// @param out takes whole lines
    /// @param clock called for the first line, not before: finding the time zone takes 15 ms
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
        // System.err is read for each line: an application may replace it.
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

    /// Not cached: an application may configure its logging after the first line.
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
