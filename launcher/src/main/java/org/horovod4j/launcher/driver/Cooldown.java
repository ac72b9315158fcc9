package org.horovod4j.launcher.driver;

import org.horovod4j.ConfigurationException;

import java.time.Duration;

/// How long a failed host is not used: `shortest` the first time, twice as long each further time,
/// at most `longest`.
public record Cooldown(Duration shortest, Duration longest) {
    /// The longest that a user may set.
    public static final Duration LIMIT = Duration.ofHours(1);

    /// Used unless the user sets a range.
    public static final Cooldown DEFAULT =
            new Cooldown(Duration.ofSeconds(10), Duration.ofSeconds(300));

    public Cooldown {
        if (shortest.compareTo(Duration.ofSeconds(1)) < 0
                || longest.compareTo(shortest) < 0
                || longest.compareTo(LIMIT) > 0) {
            throw new ConfigurationException(
                    ("--blacklist-cooldown-range: from %d to %d seconds is not a valid range. Give"
                                    + " two numbers from 1 to %d, the smaller first, as in 10 300.")
                            .formatted(
                                    shortest.toSeconds(), longest.toSeconds(), LIMIT.toSeconds()));
        }
    }

    /// How long the host is not used now.
    ///
    /// @param times how often it was blacklisted before
    Duration after(int times) {
        // Twelve doublings of a second are beyond the limit.
        Duration doubled = shortest.multipliedBy(1L << Math.min(times, 12));
        return doubled.compareTo(longest) < 0 ? doubled : longest;
    }
}
