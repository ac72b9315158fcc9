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

/// A CSV file with a row for each sample and a last one for the result. Each row is written as soon
/// as it is known.
final class AutotuneLog {
    private final Consumer<String> progress;

    /// Null if no log is wanted, or after a write has failed.
    private @Nullable Path path;

    /// Creates the file with its header.
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
                        Set %s to a file in a folder that exists and is writable, or leave it out."""
                                .formatted(path, e, "HOROVOD_AUTOTUNE_LOG"),
                        e);
            }
        }
    }

    /// Adds a row. A failed write is reported once, and the training continues.
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
