package org.horovod4j.benchmarks.runtime;

import org.horovod4j.benchmarks.report.Rounds;
import org.horovod4j.benchmarks.report.Table;
import org.horovod4j.benchmarks.report.Trials;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;

/// One row for each variant of each workload: its time, and beside what it has to be seen.
final class StepTable {
    /// The peer has no row to be divided by.
    private static final List<String> PEER_RATIOS = Collections.nCopies(3, Rounds.MISSING);

    private final Trials<Trial> trials;
    private final int fewest;

    private StepTable(Trials<Trial> trials) {
        this.trials = trials;
        this.fewest = fewestProcesses(trials);
    }

    static Table of(Trials<Trial> trials) {
        return new StepTable(trials).build();
    }

    static int fewestProcesses(Trials<Trial> trials) {
        return trials.all().mapToInt(Trial::np).min().orElseThrow();
    }

    private Table build() {
        Table table =
                new Table(
                        List.of(
                                "np",
                                "work",
                                "program",
                                "time",
                                "openmpi ÷ this",
                                "÷ flat",
                                "÷ plain",
                                "÷ np " + fewest));
        trials.all()
                .filter(trial -> !OverlapTable.has(trial))
                .sorted(Comparator.comparingInt(Trial::np).thenComparing(Trial::workload))
                .forEach(trial -> table.add(row(trial)));
        return table;
    }

    private List<String> row(Trial trial) {
        Rounds rounds = trials.rounds(trial);
        List<String> cells =
                new ArrayList<>(
                        List.of(
                                Integer.toString(trial.np()),
                                trial.workload().title(),
                                trial.program(),
                                rounds.time()));
        cells.addAll(trial.isPeer() ? PEER_RATIOS : ratios(trial, rounds));
        cells.add(
                trial.np() == fewest
                        ? Rounds.MISSING
                        : rounds.ratioTo(trials.rounds(trial.on(fewest))));
        return cells;
    }

    private List<String> ratios(Trial trial, Rounds rounds) {
        Variant variant = trial.variant();
        boolean takesTurns = variant.setting().takesTurns();
        // A flat tensor is the raw collective, and a plain variant its own measure.
        return List.of(
                takesTurns ? trials.rounds(trial.peer()).ratioTo(rounds) : Rounds.MISSING,
                variant.way() == Way.FLAT || !takesTurns
                        ? Rounds.MISSING
                        : rounds.ratioTo(trials.rounds(trial.with(variant.flat()))),
                variant.isPlain()
                        ? Rounds.MISSING
                        : rounds.ratioTo(trials.rounds(trial.with(variant.plain()))));
    }
}
