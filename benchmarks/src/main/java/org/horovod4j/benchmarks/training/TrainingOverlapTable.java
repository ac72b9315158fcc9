package org.horovod4j.benchmarks.training;

import org.horovod4j.benchmarks.report.ResultsByCase;
import org.horovod4j.benchmarks.report.RoundTimes;
import org.horovod4j.benchmarks.report.Table;

import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/// The share of communication that overlaps with the backward pass, and the resulting gain in step
/// time.
///
/// The two differ because communication needs CPU time too. If every core computes, it takes that
/// time from a backward pass.
final class TrainingOverlapTable {
    private final ResultsByCase<TrainingCase> resultsByCase;

    private TrainingOverlapTable(ResultsByCase<TrainingCase> resultsByCase) {
        this.resultsByCase = resultsByCase;
    }

    /// Empty if overlap was not measured on several ranks.
    static Optional<Table> of(ResultsByCase<TrainingCase> resultsByCase) {
        List<TrainingCase> overlaps =
                resultsByCase
                        .cases()
                        .filter(
                                trainingCase ->
                                        trainingCase.mode() == TrainingMode.OVERLAP
                                                && trainingCase.np() > 1)
                        .filter(trainingCase -> trainingCase.metric() == StepMetric.STEP)
                        .sorted(
                                Comparator.comparing(TrainingCase::workload)
                                        .thenComparingInt(TrainingCase::np))
                        .toList();
        return overlaps.isEmpty()
                ? Optional.empty()
                : Optional.of(new TrainingOverlapTable(resultsByCase).build(overlaps));
    }

    private Table build(List<TrainingCase> overlaps) {
        Table table =
                new Table(
                        List.of(
                                "work",
                                "np",
                                "allreduce",
                                "waited, sequential",
                                "waited, overlap",
                                "hidden",
                                "hidden ÷ waited, sequential",
                                "gained"));
        overlaps.forEach(trainingCase -> table.add(row(trainingCase)));
        return table;
    }

    private List<String> row(TrainingCase overlap) {
        TrainingCase end = overlap.with(TrainingMode.SEQUENTIAL);
        RoundTimes waitedAtEnd = resultsByCase.rounds(end.with(StepMetric.WAITED));
        RoundTimes waited = resultsByCase.rounds(overlap.with(StepMetric.WAITED));
        RoundTimes hidden = waitedAtEnd.combine(waited, (without, with) -> without - with);
        RoundTimes gained =
                resultsByCase
                        .rounds(end)
                        .combine(resultsByCase.rounds(overlap), (without, with) -> without - with);
        return List.of(
                overlap.workload(),
                Integer.toString(overlap.np()),
                resultsByCase
                        .rounds(overlap.with(TrainingMode.ALLREDUCE).with(StepMetric.WAITED))
                        .timeCell(),
                waitedAtEnd.timeCell(),
                waited.timeCell(),
                hidden.timeCell(),
                hidden.ratioCell(waitedAtEnd),
                gained.timeCell());
    }
}
