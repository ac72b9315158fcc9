package org.horovod4j.benchmarks.runtime;

import org.horovod4j.benchmarks.report.Percentiles;
import org.horovod4j.benchmarks.report.ReportWriter;
import org.horovod4j.benchmarks.report.Result;
import org.horovod4j.benchmarks.report.ResultsByCase;
import org.horovod4j.benchmarks.report.Table;

import java.io.IOException;
import java.util.List;
import java.util.Locale;

/// Makes a report from the results of all variants and rounds, prints it, and writes it as
/// Markdown. Arguments: RESULTS MARKDOWN.
public final class RuntimeReport {
    private RuntimeReport() {}

    public static void main(String[] arguments) throws IOException {
        Percentiles question = DisabledTimelineCost.measure();
        ReportWriter.write((results, machine) -> render(results, machine, question), arguments);
    }

    /// @param question the time of one check whether the timeline is enabled, in nanoseconds
    static String render(List<Result> results, String machine, Percentiles question) {
        ResultsByCase<RuntimeCase> resultsByCase = new ResultsByCase<>(results, RuntimeCase::of);
        return """
        # A training step through the runtime

        %s. Times are those of one step on rank 0: medians over turns [10th..90th percentile] of \
        the medians within a turn. Variants of one job took turns of a fraction of a second, in a random \
        order. A ratio within a job is taken turn by turn. A ratio of two jobs (to another program, to a job without \
        a setting, to fewer processes) is taken round by round: the median turn of one job divided by that of \
        the other. `(n dropped)`: so many turns or rounds have only one of the two times, and do not count.

        - `speedup over` another program: its time divided by this row's. Above 1, this row is faster. `openmpi` \
        reduces one flat buffer. `horovod-mpi` and `horovod-gloo` are Horovod: a program in Python submits each tensor, \
        with a cycle of 0.1 ms and an MPI that yields; Gloo uses TCP.
        - `time ÷ flat`: this row's time divided by that of the raw collective, one allreduce of one \
        tensor of the same bytes in the same memory. The aim for ResNet-50 is at most 1.15.
        - `time ÷ plain`: this row's time divided by the same without the setting after the plus: in the \
        same job, or in a job of its own (`without-`) right before or after. Above 1, the setting costs time.
        - `time ÷ np %d`: this row's time divided by that with the fewest processes.

        %s%s%s%s%s"""
                .formatted(
                        machine,
                        StepTable.fewestProcesses(resultsByCase),
                        StepTable.of(resultsByCase).toMarkdown(),
                        RuntimeOverlapTable.of(resultsByCase)
                                .map(RuntimeReport::overlapSection)
                                .orElse(""),
                        GraphTable.of(resultsByCase).map(RuntimeReport::graphSection).orElse(""),
                        GlooTable.of(resultsByCase).map(RuntimeReport::glooSection).orElse(""),
                        disabledTimelineSection(question));
    }

    private static String overlapSection(Table table) {
        return """

        ## Behind a backward pass

        A pretended backward pass computes for about a millisecond before each gradient of \
        ResNet-50. `hidden` is the share of the communication alone by which both together are \
        shorter than one after the other.

        %s"""
                .formatted(table.toMarkdown());
    }

    private static String graphSection(Table table) {
        return """

        ## Through a TensorFlow graph

        A session runs a graph with a node for each tensor. In `graph` above, the node reduces the tensor. \
        Beside it, the same graph with nodes of TensorFlow that do nothing. Both allocate the tensors. The aim is \
        at most 30 µs for a node.

        %s"""
                .formatted(table.toMarkdown());
    }

    private static String glooSection(Table table) {
        return """

        ## Beside PyTorch's own collectives

        `ProcessGroupGloo` of `org.bytedeco:pytorch` takes turns with our `async` in the same processes and the \
        same kind of memory: once with an allreduce for each tensor, and once with one allreduce of one tensor of \
        the same bytes. A speedup is Gloo's time divided by ours, turn by turn: above 1, ours is faster. Gloo \
        uses TCP, also within a host; so does ours in rows with `+tcp`.

        %s"""
                .formatted(table.toMarkdown());
    }

    private static String disabledTimelineSection(Percentiles question) {
        return """

        ## A timeline that is off

        Every step above has it. Twice for each operation, at most, the runtime asks whether it is on, \
        which takes %s ns (measured alone, in one thread).

        %s"""
                .formatted(
                        String.format(Locale.ROOT, "%.2f", question.median()),
                        DisabledTimelineCost.table(question).toMarkdown());
    }
}
