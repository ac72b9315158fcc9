package org.horovod4j.benchmarks.training;

import org.horovod4j.benchmarks.report.ReportWriter;
import org.horovod4j.benchmarks.report.Result;
import org.horovod4j.benchmarks.report.ResultsByCase;
import org.horovod4j.benchmarks.report.Table;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/// Makes a report from the results of all jobs and rounds, prints it, and writes it as Markdown.
/// Arguments: RESULTS MARKDOWN.
public final class TrainingReport {
    private TrainingReport() {}

    public static void main(String[] arguments) throws IOException {
        List<String> notes =
                arguments.length == 0 ? List.of() : ReportNotes.readAll(Path.of(arguments[0]));
        ReportWriter.write((results, machine) -> render(results, machine, notes), arguments);
    }

    /// @param notes the optimizer's choice in each job
    static String render(List<Result> results, String machine, List<String> notes) {
        ResultsByCase<TrainingCase> resultsByCase = new ResultsByCase<>(results, TrainingCase::of);
        return """
        # Training on several ranks

        %s. Times are means over the ranks of a job: medians over rounds [10th..90th percentile] of \
        the medians within a round. Ratios are taken round by round; `(n dropped)`: so many rounds have only \
        one of the two times, and do not count. Every rank has the same work in a step, however many ranks there \
        are.

        - `independent`: each process trains on its own, without communication; `barrier`: the same, with a \
        barrier at the end of each step; `overlap`: gradients are averaged while the backward pass \
        computes others; `sequential`: they are averaged after it, with TensorFlow by fetching \
        them and feeding the averages to a second run; `default`: the optimizer chooses \
        `overlap` or `sequential`.
        - `a second`: images of all ranks, or steps.
        - `rate ÷ one`: scaling efficiency, the rate divided by `np` times that of one process.
        - `rate ÷ independent`: the rate divided by that of as many independent processes, which share \
        the caches, memory and power of the machine too.
        - `rate ÷ barrier`: the rate divided by that of as many processes with a barrier in each step. \
        Below 1, communication costs time.

        %s%s%s"""
                .formatted(
                        machine,
                        EfficiencyTable.of(resultsByCase).toMarkdown(),
                        choicesSection(notes),
                        TrainingOverlapTable.of(resultsByCase)
                                .map(TrainingReport::overlapSection)
                                .orElse(""));
    }

    private static String choicesSection(List<String> notes) {
        return notes.stream()
                .distinct()
                .map("- %s\n"::formatted)
                .reduce(String::concat)
                .map("\nWhat the optimizer chose by default:\n\n"::concat)
                .orElse("");
    }

    private static String overlapSection(Table table) {
        return """

        ## What overlap hides

        - `communicate`: the exchange of all gradients, without any computation.
        - `waited`: from the end of the backward pass until all gradients are averaged, which includes \
        waiting for slower ranks.
        - `hidden`: how much less is waited with overlap than without.
        - `gained`: how much shorter the step is with overlap than without. It is less than `hidden` \
        where communication takes time from the cores that compute.

        %s"""
                .formatted(table.toMarkdown());
    }
}
