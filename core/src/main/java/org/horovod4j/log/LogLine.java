package org.horovod4j.log;

import org.jspecify.annotations.Nullable;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.System.Logger.Level;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// A line on standard error, such as `[2026-11-15 10:22:33.123456, rank 2] WARNING: text`.
///
/// @param time null to omit it
/// @param rank null for none
record LogLine(
        @Nullable ZonedDateTime time,
        @Nullable Integer rank,
        Level level,
        String message,
        @Nullable Throwable thrown) {
    private static final DateTimeFormatter TIME =
            DateTimeFormatter.ofPattern("uuuu-MM-dd HH:mm:ss.SSSSSS", Locale.ROOT);

    /// The line with its line end, then the stack trace. One text, so that lines of several threads
    /// do not mix.
    String text() {
        StringWriter text = new StringWriter();
        PrintWriter writer = new PrintWriter(text);
        writer.println(prefix() + level + ": " + message);
        if (thrown != null) {
            thrown.printStackTrace(writer);
        }
        writer.flush();
        return text.toString();
    }

    private String prefix() {
        String inside =
                Stream.of(
                                time == null ? null : TIME.format(time),
                                rank == null ? null : "rank " + rank)
                        .filter(Objects::nonNull)
                        .collect(Collectors.joining(", "));
        return inside.isEmpty() ? "" : "[" + inside + "] ";
    }
}
