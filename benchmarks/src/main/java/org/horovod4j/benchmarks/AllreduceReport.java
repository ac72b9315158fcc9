package org.horovod4j.benchmarks;

import org.horovod4j.benchmarks.report.ReportWriter;
import org.horovod4j.benchmarks.report.Result;

import java.io.IOException;
import java.util.List;
import java.util.stream.Collectors;

/// Makes tables from the results of all programs and rounds, prints them, and writes them as
/// Markdown. Arguments: RESULTS MARKDOWN.
public final class AllreduceReport {
    private AllreduceReport() {}

    public static void main(String[] arguments) throws IOException {
        ReportWriter.write(AllreduceReport::render, arguments);
    }

    static String render(List<Result> results, String machine) {
        return """
        # Allreduce of float32, sum, in place

        %s. Times are medians over rounds [10th..90th percentile] of the medians within a round. \
        `speedup over` another program is its time divided by ours: above 1, Horovod4J is faster. \
        `time ÷` is our time with encryption divided by that without.

        %s"""
                .formatted(
                        machine,
                        ComparisonTable.of(results).stream()
                                .map(ComparisonTable::toMarkdown)
                                .collect(Collectors.joining("\n")));
    }
}
