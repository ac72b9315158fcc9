package org.horovod4j.launcher.driver;

import org.horovod4j.ConfigurationException;

import java.time.Duration;

/// How long a host that failed is left alone: at first `shortest`, twice as long each further time,
/// `longest` at most.
public record Cooldown(Duration shortest, Duration longest) {
    private static final Duration LIMIT = Duration.ofHours(1);

    /// What users get who ask for nothing.
    public static final Cooldown DEFAULT =
            new Cooldown(Duration.ofSeconds(10), Duration.ofSeconds(300));

    public Cooldown {
        if (shortest.compareTo(Duration.ofSeconds(1)) < 0
                || longest.compareTo(shortest) < 0
                || longest.compareTo(LIMIT) > 0) {
            throw new ConfigurationException(
                    ("--blacklist-cooldown-range: from %d to %d seconds is no range of cooldowns. Give"
                                    + " two numbers from 1 to %d, the smaller first, as in 10 300.")
                            .formatted(
                                    shortest.toSeconds(), longest.toSeconds(), LIMIT.toSeconds()));
        }
    }

    /// How long the host is left alone now.
    ///
    /// @param times how often the host has been left alone before
    Duration after(int times) {
        // Twelve doublings of a second are beyond the limit.
        Duration doubled = shortest.multipliedBy(1L << Math.min(times, 12));
        return doubled.compareTo(longest) < 0 ? doubled : longest;
    }
}
