package org.horovod4j.option;

import java.time.Duration;
import java.util.Optional;

/// How long an operation may wait for some ranks.
///
/// @param warning until a warning; zero for no warning
/// @param shutdown until the job ends; zero for never
public record StallSettings(Duration warning, Duration shutdown) {
    /// No stall check.
    public static final StallSettings OFF = new StallSettings(Duration.ZERO, Duration.ZERO);

    public StallSettings {
        if (warning.isNegative() || shutdown.isNegative()) {
            throw new IllegalArgumentException(
                    "stall times must not be negative, but are " + warning + " and " + shutdown);
        }
    }

    static StallSettings from(Environment environment) {
        if (environment.get(RuntimeOptions.STALL_CHECK_DISABLE)) {
            return OFF;
        }
        StallSettings configured = configured(environment);
        return configured.endsBeforeItWarns()
                ? new StallSettings(configured.warning, Duration.ZERO)
                : configured;
    }

    /// The warning when the shutdown time is ignored.
    static Optional<String> warning(Environment environment) {
        StallSettings configured = configured(environment);
        return environment.get(RuntimeOptions.STALL_CHECK_DISABLE)
                        || !configured.endsBeforeItWarns()
                ? Optional.empty()
                : Optional.of(
                        """
                        %s is ignored: %s seconds are less than the %s of %s, and the warning must come first. \
                        Raise the former, or lower the latter."""
                                .formatted(
                                        RuntimeOptions.STALL_SHUTDOWN_TIME,
                                        RuntimeOptions.STALL_SHUTDOWN_TIME.format(
                                                configured.shutdown),
                                        RuntimeOptions.STALL_CHECK_TIME.format(configured.warning),
                                        RuntimeOptions.STALL_CHECK_TIME));
    }

    private static StallSettings configured(Environment environment) {
        return new StallSettings(
                environment.get(RuntimeOptions.STALL_CHECK_TIME),
                environment.get(RuntimeOptions.STALL_SHUTDOWN_TIME));
    }

    private boolean endsBeforeItWarns() {
        return !shutdown.isZero() && shutdown.compareTo(warning) < 0;
    }
}
