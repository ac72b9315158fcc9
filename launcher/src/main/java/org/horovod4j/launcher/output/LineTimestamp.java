package org.horovod4j.launcher.output;

import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Locale;

/// What comes before a line of output, asked for when the line has ended.
@FunctionalInterface
public interface LineTimestamp {
    /// Nothing.
    LineTimestamp NONE = () -> "";

    String now();

    /// The time of day, as in `2026-11-15T12:20:33.123+01:00` and a blank. Lines of several hosts
    /// and days sort by it, unlike Horovod's `Sun Nov 15 12:20:33 2026`.
    static LineTimestamp ofCurrentTime() {
        DateTimeFormatter form =
                DateTimeFormatter.ofPattern("uuuu-MM-dd'T'HH:mm:ss.SSSxxx ", Locale.ROOT);
        return () -> form.format(ZonedDateTime.now(ZoneId.systemDefault()));
    }
}
