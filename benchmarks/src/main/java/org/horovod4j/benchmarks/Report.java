package org.horovod4j.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// Turns the lines of all programs and rounds into tables: prints them, and writes them as
/// Markdown. Arguments: RESULTS MARKDOWN.
public final class Report {
    private static final Path PROCESSORS = Path.of("/proc/cpuinfo");

    private Report() {}

    public static void main(String[] arguments) throws IOException {
        if (arguments.length != 2) {
            throw new IllegalArgumentException(
                    "arguments are RESULTS MARKDOWN, found " + List.of(arguments));
        }
        List<Result> results =
                Files.readAllLines(Path.of(arguments[0])).stream().map(Result::parse).toList();
        String report = render(results, machine());
        System.out.println(report);
        Files.writeString(Path.of(arguments[1]), report);
    }

    static String render(List<Result> results, String machine) {
        return """
        # Allreduce of float32, sum, in place

        %s. Times are medians over rounds [10th..90th percentile] of the medians within a round. \
        A ratio above 1 means that Horovod4J was faster.

        %s"""
                .formatted(
                        machine,
                        Comparison.of(results).stream()
                                .map(Comparison::toMarkdown)
                                .collect(Collectors.joining("\n")));
    }

    private static String machine() throws IOException {
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
