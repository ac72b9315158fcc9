package org.horovod4j.benchmarks.training;

import org.horovod4j.benchmarks.report.ResultsByCase;
import org.horovod4j.benchmarks.report.RoundTimes;
import org.horovod4j.benchmarks.report.Table;

import java.util.Comparator;
import java.util.List;

/// One row for each way and number of processes: its rate, and how much of the perfect rate that is.
///
/// Every rank has the same work in a step, however many ranks there are. So a job of `n` ranks whose
/// step takes as long as that of one process has `n` times its rate, and the efficiency is the time of
/// one process divided by the time of the job.
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
                                "way",
                                "step",
                                "a second",
                                "÷ one",
                                "÷ alone",
                                "÷ paced"));
        resultsByCase
                .cases()
                .filter(trainingCase -> trainingCase.metric() == StepMetric.STEP)
                .filter(
                        trainingCase ->
                                trainingCase.mode() != TrainingMode.COMMUNICATE) // trains nothing
                .sorted(
                        Comparator.comparing(TrainingCase::workload)
                                .thenComparingInt(TrainingCase::np)
                                .thenComparing(TrainingCase::mode))
                .forEach(trainingCase -> table.add(row(trainingCase)));
        return table;
    }

    private List<String> row(TrainingCase trainingCase) {
        RoundTimes roundTimes = resultsByCase.rounds(trainingCase);
        TrainingCase alone = trainingCase.with(TrainingMode.ALONE);
        TrainingCase paced = trainingCase.with(TrainingMode.PACED);
        return List.of(
                trainingCase.workload(),
                Integer.toString(trainingCase.np()),
                trainingCase.mode().toString(),
                roundTimes.timeCell(),
                rate(trainingCase, roundTimes),
                trainingCase.equals(alone.withProcesses(1))
                        ? RoundTimes.MISSING
                        : resultsByCase.rounds(alone.withProcesses(1)).ratioCell(roundTimes),
                trainingCase.equals(alone)
                        ? RoundTimes.MISSING
                        : resultsByCase.rounds(alone).ratioCell(roundTimes),
                trainingCase.mode().communicates()
                        ? resultsByCase.rounds(paced).ratioCell(roundTimes)
                        : RoundTimes.MISSING);
    }

    /// Images of all ranks, or steps where no images are trained on.
    private static String rate(TrainingCase trainingCase, RoundTimes roundTimes) {
        return trainingCase.images() == 0
                ? roundTimes.rateCell(1) + " steps"
                : roundTimes.rateCell(trainingCase.np() * trainingCase.images()) + " images";
    }
}
