package org.horovod4j.benchmarks.training;

import org.horovod4j.benchmarks.report.Rounds;
import org.horovod4j.benchmarks.report.Table;
import org.horovod4j.benchmarks.report.Trials;

import java.util.Comparator;
import java.util.List;

/// One row for each way and number of processes: its rate, and how much of the perfect rate that is.
///
/// Every rank has the same work in a step, however many ranks there are. So a job of `n` ranks whose
/// step takes as long as that of one process has `n` times its rate, and the efficiency is the time of
/// one process divided by the time of the job.
final class EfficiencyTable {
    private final Trials<Trial> trials;

    private EfficiencyTable(Trials<Trial> trials) {
        this.trials = trials;
    }

    static Table of(Trials<Trial> trials) {
        return new EfficiencyTable(trials).build();
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
        trials.all()
                .filter(trial -> trial.quantity() == Quantity.STEP)
                .filter(trial -> trial.way() != Way.COMMUNICATE) // trains nothing
                .sorted(
                        Comparator.comparing(Trial::work)
                                .thenComparingInt(Trial::np)
                                .thenComparing(Trial::way))
                .forEach(trial -> table.add(row(trial)));
        return table;
    }

    private List<String> row(Trial trial) {
        Rounds rounds = trials.rounds(trial);
        Trial alone = trial.with(Way.ALONE);
        Trial paced = trial.with(Way.PACED);
        return List.of(
                trial.work(),
                Integer.toString(trial.np()),
                trial.way().toString(),
                rounds.time(),
                rate(trial, rounds),
                trial.equals(alone.on(1))
                        ? Rounds.MISSING
                        : trials.rounds(alone.on(1)).ratioTo(rounds),
                trial.equals(alone) ? Rounds.MISSING : trials.rounds(alone).ratioTo(rounds),
                trial.way().communicates() ? trials.rounds(paced).ratioTo(rounds) : Rounds.MISSING);
    }

    /// Images of all ranks, or steps where no images are trained on.
    private static String rate(Trial trial, Rounds rounds) {
        return trial.images() == 0
                ? rounds.rate(1) + " steps"
                : rounds.rate(trial.np() * trial.images()) + " images";
    }
}
