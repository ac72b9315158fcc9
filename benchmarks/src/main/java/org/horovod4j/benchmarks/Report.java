package org.horovod4j.benchmarks;

import org.horovod4j.benchmarks.report.Machine;
import org.horovod4j.benchmarks.report.Result;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;

/// Turns the lines of all programs and rounds into tables: prints them, and writes them as
/// Markdown. Arguments: RESULTS MARKDOWN.
public final class Report {
    private Report() {}

    public static void main(String[] arguments) throws IOException {
        if (arguments.length != 2) {
            throw new IllegalArgumentException(
                    "arguments are RESULTS MARKDOWN, found " + List.of(arguments));
        }
        String report = render(Result.readAll(Path.of(arguments[0])), Machine.describe());
        System.out.println(report);
        Files.writeString(Path.of(arguments[1]), report);
    }

    static String render(List<Result> results, String machine) {
        return """
        # Allreduce of float32, sum, in place

        %s. Times are medians over rounds [10th..90th percentile] of the medians within a round. \
        A ratio above 1 means that Horovod4J was faster; tls ÷ the same without is the price \
        of encryption.

        %s"""
                .formatted(
                        machine,
                        Comparison.of(results).stream()
                                .map(Comparison::toMarkdown)
                                .collect(Collectors.joining("\n")));
    }
}
