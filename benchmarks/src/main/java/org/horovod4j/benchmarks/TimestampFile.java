package org.horovod4j.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/// Records the time of day for `startup.sh`, which takes its start time before this process exists.
final class TimestampFile {
    private TimestampFile() {}

    /// Appends the milliseconds since 1970. Short lines from several processes do not mix.
    static void append(Path file) throws IOException {
        Files.writeString(
                file,
                System.currentTimeMillis() + "\n",
                StandardOpenOption.CREATE,
                StandardOpenOption.APPEND);
    }
}
