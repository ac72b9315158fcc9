package org.horovod4j.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/// Notes the time of day for `startup.sh`, which started its own clock before this process existed.
final class TimestampFile {
    private TimestampFile() {}

    /// Appends the milliseconds since 1970; short lines of several processes stay whole.
    static void append(Path file) throws IOException {
        Files.writeString(
                file,
                System.currentTimeMillis() + "\n",
                StandardOpenOption.CREATE,
                StandardOpenOption.APPEND);
    }
}
