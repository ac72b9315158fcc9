package org.horovod4j.launcher;

import org.horovod4j.launcher.driver.ElasticDriver;
import org.horovod4j.launcher.process.Signal;
import org.jspecify.annotations.Nullable;

import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;

/// How an elastic job has ended.
sealed interface ElasticOutcome {
    /// The exit code of the launcher.
    int exitCode();

    /// What the user is told; empty when there is nothing to tell.
    String text();

    /// All workers of the last generation ended well.
    record Done() implements ElasticOutcome {
        @Override
        public int exitCode() {
            return 0;
        }

        @Override
        public String text() {
            return "";
        }
    }

    /// Somebody ended the launcher.
    ///
    /// @param took how long the processes took to end
    record Interrupted(Signal signal, Duration took) implements ElasticOutcome {
        @Override
        public int exitCode() {
            return 128 + signal.number();
        }

        @Override
        public String text() {
            return String.format(
                    Locale.ROOT, "ended by %s after %.1f s", signal, took.toMillis() / 1e3);
        }
    }

    /// It could not go on, or a worker of its last generation failed.
    ///
    /// @param verdict why it could not go on; null when it came to its end
    /// @param first the first worker to fail, if one did
    /// @param lastErrors the last lines that it printed on standard error
    record Failed(
            @Nullable String verdict,
            Optional<ElasticDriver.Failure> first,
            List<String> lastErrors)
            implements ElasticOutcome {
        public Failed {
            lastErrors = List.copyOf(lastErrors);
        }

        @Override
        public int exitCode() {
            return HorovodRun.FAILURE;
        }

        @Override
        public String text() {
            StringBuilder text = new StringBuilder("the job failed");
            if (verdict != null) {
                text.append(": ").append(verdict);
            }
            text.append('.');
            first.ifPresent(
                    it ->
                            text.append(
                                    " First to fail was %s: %s."
                                            .formatted(it.worker(), it.reason())));
            if (!lastErrors.isEmpty()) {
                text.append("\n  Its last lines on standard error:");
                lastErrors.forEach(line -> text.append("\n    ").append(line));
            }
            return text.toString();
        }
    }
}
