package org.horovod4j.benchmarks;

import org.horovod4j.benchmarks.report.LogLogPlot;
import org.horovod4j.benchmarks.report.ReportWriter;
import org.horovod4j.benchmarks.report.Result;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;

/// Makes tables and a plot from the results of all programs and rounds, prints the tables, and
/// writes them as Markdown, with the plot beside them as SVG. Arguments: RESULTS MARKDOWN.
public final class AllreduceReport {
    private AllreduceReport() {}

    public static void main(String[] arguments) throws IOException {
        ReportWriter.write(
                (results, machine) -> render(results, machine, plotName(arguments[1])), arguments);
        Files.writeString(
                Path.of(arguments[1]).resolveSibling(plotName(arguments[1])),
                plot(Result.readAll(Path.of(arguments[0]))));
    }

    /// The name of the plot beside a Markdown file: `today.svg` for `today.md`.
    private static String plotName(String markdown) {
        return Path.of(markdown).getFileName().toString().replaceFirst("\\.md$", "") + ".svg";
    }

    /// @param plotName the file of the plot, in the folder of this text
    static String render(List<Result> results, String machine, String plotName) {
        return """
        # Allreduce of float32, sum, in place

        %s. Times are medians over rounds [10th..90th percentile] of the medians within a round. The \
        programs of a round ran one after the other, in a random order. Ratios are taken round by round; \
        `(n dropped)`: so many rounds have only one of the two times, and do not count. \
        `speedup over` another program is its time divided by ours: above 1, Horovod4J is faster. \
        `memory` only reads and writes as many bytes as an allreduce in place has to: `speedup over memory` is \
        about the share of the memory bandwidth that ours uses. \
        `time ÷` is the time with encryption (`-tls`) or with a metric after every 100 operations \
        (`-metric`), divided by that without.

        ![Time over size](%s)

        %s"""
                .formatted(
                        machine,
                        plotName,
                        ComparisonTable.of(results).stream()
                                .map(ComparisonTable::toMarkdown)
                                .collect(Collectors.joining("\n")));
    }

    /// One panel for each table.
    static String plot(List<Result> results) {
        return new LogLogPlot(
                        ComparisonTable.of(results).stream().map(ComparisonTable::toPanel).toList())
                .toSvg();
    }
}
