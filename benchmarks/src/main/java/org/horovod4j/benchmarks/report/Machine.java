package org.horovod4j.benchmarks.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.Locale;
import java.util.stream.Stream;

/// Describes the machine and date of a report. Times are meaningless without their machine.
public final class Machine {
    private static final Path PROCESSORS = Path.of("/proc/cpuinfo");

    private Machine() {}

    /// Date, CPU, operating system and Java version, for the head of a report.
    public static String describe() throws IOException {
        return String.format(
                Locale.ROOT,
                "%s, %s with %d cores, %s %s, Java %s",
                LocalDate.now(ZoneOffset.UTC),
                processor(),
                Runtime.getRuntime().availableProcessors(),
                System.getProperty("os.name"),
                System.getProperty("os.version"),
                Runtime.version());
    }

    private static String processor() throws IOException {
        if (!Files.exists(PROCESSORS)) {
            return System.getProperty("os.arch");
        }
        try (Stream<String> lines = Files.lines(PROCESSORS)) {
            return lines.filter(line -> line.startsWith("model name"))
                    .findFirst()
                    .map(line -> line.substring(line.indexOf(':') + 1).strip())
                    .orElse(System.getProperty("os.arch"));
        }
    }
}
