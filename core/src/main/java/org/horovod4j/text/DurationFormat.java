package org.horovod4j.text;

import java.time.Duration;
import java.util.Locale;

/// Durations as text.
public final class DurationFormat {
    private DurationFormat() {}

    /// A configured time, to the millisecond: "10 s", "0.5 s".
    public static String seconds(Duration duration) {
        return duration.toMillis() % 1000 == 0
                ? duration.toSeconds() + " s"
                : duration.toMillis() / 1e3 + " s";
    }

    /// A measured time, to a tenth of a second: "0.2 s".
    public static String roundedSeconds(Duration duration) {
        return String.format(Locale.ROOT, "%.1f s", duration.toMillis() / 1e3);
    }
}
