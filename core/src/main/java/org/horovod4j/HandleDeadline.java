package org.horovod4j;

import java.time.Duration;

/// The end of a time that several waits share.
///
/// @param startNanos when it began, by [System#nanoTime]
record HandleDeadline(long startNanos, Duration timeout) {
    /// Further away than any program runs, and near enough to count in nanoseconds.
    private static final Duration LONGEST = Duration.ofDays(36_500);

    static HandleDeadline after(Duration timeout) {
        return new HandleDeadline(
                System.nanoTime(), timeout.compareTo(LONGEST) > 0 ? LONGEST : timeout);
    }

    /// Zero or negative when it has passed.
    Duration remaining() {
        return timeout.minusNanos(System.nanoTime() - startNanos);
    }
}
