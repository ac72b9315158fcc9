package org.horovod4j.log;

import static org.assertj.core.api.Assertions.assertThat;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import java.lang.System.Logger.Level;
import java.time.ZoneId;
import java.time.ZonedDateTime;

class LogLineTest {
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "2026-11-15T10:22:33.123456789 | 2 | [2026-11-15 10:22:33.123456, rank 2] WARNING: it",
                "2026-01-05T00:00:00           | 0 | [2026-01-05 00:00:00.000000, rank 0] WARNING: it",
                "2026-11-15T10:22:33.5         |   | [2026-11-15 10:22:33.500000] WARNING: it",
                "                              | 2 | [rank 2] WARNING: it",
                "                              |   | WARNING: it"
            })
    void lineShowsTimeAndRankWhenPresent(
            @Nullable String time, @Nullable Integer rank, String line) {
        ZonedDateTime when = time == null ? null : ZonedDateTime.parse(time + "Z");
        assertThat(new LogLine(when, rank, Level.WARNING, "it", null).text())
                .isEqualTo(line + System.lineSeparator());
    }

    @Test
    void timeIsLocalTime() {
        ZonedDateTime time =
                ZonedDateTime.parse("2026-11-15T10:00:00Z")
                        .withZoneSameInstant(ZoneId.of("Europe/Berlin"));
        assertThat(new LogLine(time, null, Level.INFO, "it", null).text())
                .startsWith("[2026-11-15 11:00:00.000000] INFO: it");
    }

    @Test
    void stackTraceWithCausesFollowsTheLine() {
        Exception thrown =
                new IllegalStateException("outer", new IllegalArgumentException("inner"));
        assertThat(new LogLine(null, 1, Level.ERROR, "it broke", thrown).text().lines())
                .startsWith("[rank 1] ERROR: it broke", "java.lang.IllegalStateException: outer")
                .contains("Caused by: java.lang.IllegalArgumentException: inner");
    }
}
