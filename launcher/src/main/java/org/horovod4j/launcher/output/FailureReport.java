package org.horovod4j.launcher.output;

import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.List;
import java.util.Locale;

/// The last words on a job that failed.
///
/// @param process the first to fail, as in "rank 2 on node2 (process 256)"
/// @param reason "exit code 3", "killed by signal 9 (SIGKILL)"
/// @param lastErrors its last lines on standard error
/// @param shutdownTime how long the other processes took to end after it; null when there were none, or
///     nobody knows
public record FailureReport(
        String process, String reason, List<String> lastErrors, @Nullable Duration shutdownTime) {
    public FailureReport {
        lastErrors = List.copyOf(lastErrors);
    }

    /// As in "0.2 s".
    public static String seconds(Duration duration) {
        return String.format(Locale.ROOT, "%.1f s", duration.toMillis() / 1e3);
    }

    /// The text, in several lines.
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        text.append("the job failed. First to fail was %s: %s.".formatted(process, reason));
        if (!lastErrors.isEmpty()) {
            text.append("\n  Its last lines on standard error:");
            lastErrors.forEach(line -> text.append("\n    ").append(line));
        }
        if (shutdownTime != null) {
            text.append(
                    "\n  The other processes had ended %s later.".formatted(seconds(shutdownTime)));
        }
        return text.toString();
    }
}
