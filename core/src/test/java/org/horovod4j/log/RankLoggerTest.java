package org.horovod4j.log;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.lang.System.Logger.Level;
import java.time.ZonedDateTime;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/// Logging to standard error, here a list.
class RankLoggerTest {
    private static final ZonedDateTime TIME = ZonedDateTime.parse("2026-11-15T10:22:33.123456Z");

    private final List<String> lines = new CopyOnWriteArrayList<>();
    private final LogOutput logOutput =
            new LogOutput(_ -> false, line -> lines.add(line.strip()), () -> TIME);
    private final System.Logger logger = new RankLogger("some.Name", logOutput);

    @Test
    void warningIsTheDefaultLevel() {
        logAtEachLevel();
        assertThat(lines)
                .containsExactly(
                        "[2026-11-15 10:22:33.123456] WARNING: it",
                        "[2026-11-15 10:22:33.123456] ERROR: it");
    }

    @ParameterizedTest
    @CsvSource({
        "TRACE, 'TRACE,DEBUG,INFO,WARNING,ERROR'",
        "DEBUG, 'DEBUG,INFO,WARNING,ERROR'",
        "INFO, 'INFO,WARNING,ERROR'",
        "WARNING, 'WARNING,ERROR'",
        "ERROR, ERROR",
        "FATAL, ''"
    })
    void levelAllowsSameAndHigherSeverity(LogLevel level, String expected) {
        logOutput.configure(new LogSettings(level, false), null);
        logAtEachLevel();
        assertThat(lines)
                .containsExactlyElementsOf(
                        Arrays.stream(expected.split(","))
                                .filter(each -> !each.isEmpty())
                                .map(each -> each + ": it")
                                .toList());
    }

    @Test
    void progressLoggerDefaultsToInfo() {
        System.Logger progress = new RankLogger("some.Name", logOutput, LogLevel.INFO);
        logOutput.configure(new LogSettings(null, false), null);
        progress.log(Level.DEBUG, "a detail");
        progress.log(Level.INFO, "half of it");
        logOutput.configure(new LogSettings(LogLevel.WARNING, false), null);
        progress.log(Level.INFO, "all of it");
        assertThat(lines).containsExactly("INFO: half of it");
    }

    @Test
    void suppressedMessageSupplierIsNotCalled() {
        logger.log(
                Level.DEBUG,
                () -> {
                    throw new AssertionError("made a text that is not logged");
                });
        assertThat(logger.isLoggable(Level.DEBUG)).isFalse();
        assertThat(logger.isLoggable(Level.OFF)).isFalse();
        assertThat(lines).isEmpty();
    }

    @Test
    void settingsApplyToExistingLoggers() {
        logOutput.configure(new LogSettings(LogLevel.INFO, false), 3);
        logger.log(Level.INFO, "now");
        assertThat(lines).containsExactly("[rank 3] INFO: now");
    }

    @Test
    void argumentsAreFilledIn() {
        logOutput.configure(new LogSettings(null, false), null);
        logger.log(Level.WARNING, "{1} before {0}", "b", "a");
        assertThat(lines).containsExactly("WARNING: a before b");
    }

    @Test
    void bracesAreLiteralWithoutArguments() {
        logOutput.configure(new LogSettings(null, false), null);
        logger.log(Level.WARNING, "it's {0}");
        assertThat(lines).containsExactly("WARNING: it's {0}");
    }

    @Test
    void malformedFormatIsLoggedUnformatted() {
        logOutput.configure(new LogSettings(null, false), null);
        logger.log(Level.WARNING, "broken {", "argument");
        assertThat(lines).singleElement().asString().startsWith("WARNING: broken {");
    }

    @Test
    void threadRankIsInheritedByChildThreads() throws InterruptedException {
        logOutput.configure(new LogSettings(null, false), 0);
        Thread rank =
                Thread.ofPlatform()
                        .start(
                                () -> {
                                    logOutput.setThreadRank(2);
                                    logger.log(Level.WARNING, "rank");
                                    logInThread("helper");
                                });
        rank.join();
        logger.log(Level.WARNING, "process");
        assertThat(lines)
                .containsExactly(
                        "[rank 2] WARNING: rank",
                        "[rank 2] WARNING: helper",
                        "[rank 0] WARNING: process");
    }

    private void logInThread(String text) {
        Thread helper = Thread.ofPlatform().start(() -> logger.log(Level.WARNING, text));
        try {
            helper.join();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private void logAtEachLevel() {
        for (Level level :
                List.of(Level.TRACE, Level.DEBUG, Level.INFO, Level.WARNING, Level.ERROR)) {
            logger.log(level, "it");
        }
    }
}
