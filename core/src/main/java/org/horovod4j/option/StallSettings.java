package org.horovod4j.option;

import java.time.Duration;
import java.util.Optional;

/// How long an operation may lack some ranks.
///
/// @param warning before a warning; zero for no warning
/// @param shutdown before the job ends; zero for never
public record StallSettings(Duration warning, Duration shutdown) {
    /// Looks for no stall at all.
    public static final StallSettings OFF = new StallSettings(Duration.ZERO, Duration.ZERO);

    public StallSettings {
        if (warning.isNegative() || shutdown.isNegative()) {
            throw new IllegalArgumentException("not negative: " + warning + ", " + shutdown);
        }
    }

    static StallSettings from(Environment environment) {
        if (environment.get(RuntimeOptions.STALL_CHECK_DISABLE)) {
            return OFF;
        }
        StallSettings asked = configured(environment);
        return asked.endsBeforeItWarns() ? new StallSettings(asked.warning, Duration.ZERO) : asked;
    }

    /// What to say when the shutdown time is ignored.
    static Optional<String> warning(Environment environment) {
        StallSettings asked = configured(environment);
        return environment.get(RuntimeOptions.STALL_CHECK_DISABLE) || !asked.endsBeforeItWarns()
                ? Optional.empty()
                : Optional.of(
                        """
                        %s is ignored: %s seconds are less than the %s of %s, and no job ends before its \
                        warning. Set it to at least as much, or the other to less."""
                                .formatted(
                                        RuntimeOptions.STALL_SHUTDOWN_TIME,
                                        RuntimeOptions.STALL_SHUTDOWN_TIME.format(asked.shutdown),
                                        RuntimeOptions.STALL_CHECK_TIME.format(asked.warning),
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
