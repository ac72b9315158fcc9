package org.horovod4j.benchmarks.training;

import org.horovod4j.benchmarks.report.ResultsByCase;
import org.horovod4j.benchmarks.report.RoundTimes;
import org.horovod4j.benchmarks.report.Table;

import java.util.Comparator;
import java.util.List;

/// One row for each mode and number of processes: its rate and its efficiency.
///
/// Each rank has the same work per step for any number of ranks. With perfect scaling, a step of
/// `n` ranks takes as long as a step of one process, and the rate is `n` times as high. The
/// efficiency is therefore the step time of one process divided by the step time of the job.
final class EfficiencyTable {
    private final ResultsByCase<TrainingCase> resultsByCase;

    private EfficiencyTable(ResultsByCase<TrainingCase> resultsByCase) {
        this.resultsByCase = resultsByCase;
    }

    static Table of(ResultsByCase<TrainingCase> resultsByCase) {
        return new EfficiencyTable(resultsByCase).build();
    }

    private Table build() {
        Table table =
                new Table(
                        List.of(
                                "work",
                                "np",
                                "mode",
                                "step",
                                "a second",
                                "rate ÷ one",
                                "rate ÷ independent",
                                "rate ÷ barrier"));
        resultsByCase
                .cases()
                .filter(trainingCase -> trainingCase.metric() == StepMetric.STEP)
                .filter(
                        trainingCase ->
                                trainingCase.mode() != TrainingMode.ALLREDUCE) // trains nothing
                .sorted(
                        Comparator.comparing(TrainingCase::workload)
                                .thenComparingInt(TrainingCase::np)
                                .thenComparing(TrainingCase::mode))
                .forEach(trainingCase -> table.add(row(trainingCase)));
        return table;
    }

    private List<String> row(TrainingCase trainingCase) {
        RoundTimes roundTimes = resultsByCase.rounds(trainingCase);
        TrainingCase independent = trainingCase.with(TrainingMode.INDEPENDENT);
        TrainingCase barrier = trainingCase.with(TrainingMode.BARRIER);
        return List.of(
                trainingCase.workload(),
                Integer.toString(trainingCase.np()),
                trainingCase.mode().toString(),
                roundTimes.timeCell(),
                rate(trainingCase, roundTimes),
                trainingCase.equals(independent.withProcesses(1))
                        ? RoundTimes.MISSING
                        : oneProcess(independent, roundTimes).ratioCell(roundTimes),
                trainingCase.equals(independent)
                        ? RoundTimes.MISSING
                        : resultsByCase.rounds(independent).ratioCell(roundTimes),
                trainingCase.mode().communicates()
                        ? resultsByCase.rounds(barrier).ratioCell(roundTimes)
                        : RoundTimes.MISSING);
    }

    /// One process alone, in the rounds of this job. A job of each number of ranks may have measured
    /// its own baseline.
    private RoundTimes oneProcess(TrainingCase independent, RoundTimes job) {
        return resultsByCase.rounds(independent.withProcesses(1)).inTurnsOf(job);
    }

    /// Images per second of all ranks, or steps per second if the workload has no images.
    private static String rate(TrainingCase trainingCase, RoundTimes roundTimes) {
        return trainingCase.images() == 0
                ? roundTimes.rateCell(1) + " steps"
                : roundTimes.rateCell(trainingCase.np() * trainingCase.images()) + " images";
    }
}
