package org.horovod4j.runtime.autotune;

import org.horovod4j.ConfigurationException;
import org.horovod4j.spi.Tuning;
import org.jspecify.annotations.Nullable;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Locale;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/// A CSV file with a row for each sample and a last one for the result. Each row is in the file as
/// soon as it is known, for people who look on.
final class AutotuneLog {
    private final Consumer<String> progress;

    /// None when no log is wanted, or none can be written any more.
    private @Nullable Path path;

    /// Makes the file with its header.
    ///
    /// @throws ConfigurationException when it cannot be written
    AutotuneLog(@Nullable Path path, Consumer<String> progress) {
        this.path = path;
        this.progress = progress;
        if (path != null) {
            try {
                Files.writeString(path, header());
            } catch (IOException e) {
                throw new ConfigurationException(
                        """
                        the log of the autotuner cannot be written
                          file: %s
                          reason: %s
                        Name a file in a folder that exists and can be written by %s, or leave it out."""
                                .formatted(path, e, "HOROVOD_AUTOTUNE_LOG"),
                        e);
            }
        }
    }

    /// Adds a row. A disk that is full by now is reported once, but does not stop the training.
    void row(String phase, Tuning tuning, double score) {
        if (path == null) {
            return;
        }
        String row =
                Arrays.stream(Knob.values())
                        .map(knob -> knob.text(knob.read(tuning)))
                        .collect(Collectors.joining(",", phase + ",", ""))
                        .concat(String.format(Locale.ROOT, ",%.3f%n", score));
        try {
            Files.writeString(path, row, StandardOpenOption.APPEND);
        } catch (IOException e) {
            progress.accept(
                    "autotune: log %s ends here, it can no longer be written: %s"
                            .formatted(path, e));
            path = null;
        }
    }

    private static String header() {
        return Arrays.stream(Knob.values())
                .map(Knob::column)
                .collect(Collectors.joining(",", "phase,", ",score%n".formatted()));
    }
}
