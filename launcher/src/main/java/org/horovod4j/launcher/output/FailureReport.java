package org.horovod4j.launcher.output;

import org.horovod4j.text.DurationFormat;
import org.horovod4j.text.MessageText;
import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.List;

/// The last message about a job that failed.
///
/// @param reason why the job could not continue; null when it is the first failure
/// @param first the first process that failed; null when none did
/// @param shutdownTime how long the other processes took to exit after it; null when there were
///     none, or it is unknown
public record FailureReport(
        @Nullable String reason, @Nullable FirstFailure first, @Nullable Duration shutdownTime) {
    /// The first process that failed.
    ///
    /// @param process as in "rank 2 on node2 (process 256)"
    /// @param reason "exit code 3", "killed by signal 9 (SIGKILL)"
    /// @param lastErrors its last lines on standard error
    public record FirstFailure(String process, String reason, List<String> lastErrors) {
        public FirstFailure {
            lastErrors = List.copyOf(lastErrors);
        }
    }

    /// The text, in several lines.
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("the job failed");
        text.append(reason == null ? "." : ": " + MessageText.sentence(reason));
        if (first != null) {
            text.append(
                    " First to fail was %s: %s"
                            .formatted(first.process, MessageText.sentence(first.reason)));
            if (!first.lastErrors.isEmpty()) {
                text.append("\n  Its last lines on standard error:");
                first.lastErrors.forEach(line -> text.append("\n    ").append(line));
            }
        }
        if (shutdownTime != null) {
            text.append(
                    "\n  The other processes had ended %s later."
                            .formatted(DurationFormat.roundedSeconds(shutdownTime)));
        }
        return text.toString();
    }
}
