package org.horovod4j.log;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.lang.System.Logger.Level;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.logging.ConsoleHandler;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import java.util.stream.Stream;

/// Logging in an application that has configured `java.util.logging`. Changes only loggers of these
/// tests, as all others belong to the whole JVM.
class JavaUtilLoggingTest {
    private static final String PARENT = "test.horovod4j.parent";
    private static final String NAME = PARENT + ".Child";

    @Test
    void jdkDefaultIsNotCustomized() {
        assertThat(JavaUtilLogging.isCustomized("test.horovod4j.never.Used")).isFalse();
        assertThat(JavaUtilLogging.isCustomized("Unpacked")).isFalse();
    }

    static Stream<Consumer<Logger>> touches() {
        return Stream.of(
                logger -> logger.setLevel(java.util.logging.Level.FINE),
                logger -> logger.setFilter(_ -> true),
                logger -> logger.setUseParentHandlers(false),
                logger -> logger.addHandler(new ConsoleHandler()));
    }

    @ParameterizedTest
    @MethodSource("touches")
    void configuredParentLoggerIsCustomized(Consumer<Logger> touch) {
        Logger parent = Logger.getLogger(PARENT);
        assertThat(JavaUtilLogging.isCustomized(NAME)).isFalse();
        touch.accept(parent);
        try {
            assertThat(JavaUtilLogging.isCustomized(NAME)).isTrue();
            assertThat(JavaUtilLogging.isCustomized(PARENT)).isTrue();
            assertThat(JavaUtilLogging.isCustomized("test.horovod4j.other.Child")).isFalse();
        } finally {
            reset(parent);
        }
    }

    @Test
    void applicationLevelAppliesUnlessLevelIsSet() {
        Logger own = Logger.getLogger(NAME);
        RecordingHandler recordingHandler = new RecordingHandler();
        own.setLevel(java.util.logging.Level.FINE);
        own.setUseParentHandlers(false);
        own.addHandler(recordingHandler);
        LogOutput logOutput = outletOfApplication();
        System.Logger logger = new RankLogger(NAME, logOutput);
        try {
            logger.log(Level.TRACE, "trace");
            logger.log(Level.DEBUG, "{0}", "debug");
            logger.log(Level.ERROR, "error", new IllegalStateException("thrown"));
            logOutput.configure(new LogSettings(LogLevel.ERROR, true), 0);
            logger.log(Level.WARNING, "warning");
            logger.log(Level.ERROR, "last");
            assertThat(recordingHandler.lines).containsExactly("debug", "error thrown", "last");
        } finally {
            reset(own);
        }
    }

    /// An output that fails when a line goes to standard error.
    private static LogOutput outletOfApplication() {
        return new LogOutput(
                JavaUtilLogging::isCustomized,
                line -> {
                    throw new AssertionError("not for standard error: " + line);
                },
                ZonedDateTime::now);
    }

    private static void reset(Logger logger) {
        logger.setLevel(null);
        logger.setFilter(null);
        logger.setUseParentHandlers(true);
        for (Handler handler : logger.getHandlers()) {
            logger.removeHandler(handler);
        }
    }

    private static final class RecordingHandler extends Handler {
        private final List<String> lines = new ArrayList<>();

        @Override
        public void publish(LogRecord entry) {
            String text = new SimpleFormatter().formatMessage(entry);
            Throwable thrown = entry.getThrown();
            lines.add(thrown == null ? text : text + " " + thrown.getMessage());
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    }
}
