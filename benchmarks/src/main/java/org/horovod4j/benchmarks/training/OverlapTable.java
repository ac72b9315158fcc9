package org.horovod4j.benchmarks.training;

import org.horovod4j.benchmarks.report.Rounds;
import org.horovod4j.benchmarks.report.Table;
import org.horovod4j.benchmarks.report.Trials;

import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/// How much of the communication a backward pass hides, and how much of that is gained.
///
/// The two differ: communication needs a core too, and where every core computes it can only use time
/// that it takes from a backward pass.
final class OverlapTable {
    private final Trials<Trial> trials;

    private OverlapTable(Trials<Trial> trials) {
        this.trials = trials;
    }

    /// Empty where overlap was not measured on several ranks.
    static Optional<Table> of(Trials<Trial> trials) {
        List<Trial> overlaps =
                trials.all()
                        .filter(trial -> trial.way() == Way.OVERLAP && trial.np() > 1)
                        .filter(trial -> trial.quantity() == Quantity.STEP)
                        .sorted(Comparator.comparing(Trial::work).thenComparingInt(Trial::np))
                        .toList();
        return overlaps.isEmpty()
                ? Optional.empty()
                : Optional.of(new OverlapTable(trials).build(overlaps));
    }

    private Table build(List<Trial> overlaps) {
        Table table =
                new Table(
                        List.of(
                                "work",
                                "np",
                                "communicate",
                                "waited, end",
                                "waited, overlap",
                                "hidden",
                                "hidden ÷ waited, end",
                                "gained"));
        overlaps.forEach(trial -> table.add(row(trial)));
        return table;
    }

    private List<String> row(Trial overlap) {
        Trial end = overlap.with(Way.END);
        Rounds waitedAtEnd = trials.rounds(end.with(Quantity.WAITED));
        Rounds waited = trials.rounds(overlap.with(Quantity.WAITED));
        Rounds hidden = waitedAtEnd.with(waited, (without, with) -> without - with);
        Rounds gained =
                trials.rounds(end).with(trials.rounds(overlap), (without, with) -> without - with);
        return List.of(
                overlap.work(),
                Integer.toString(overlap.np()),
                trials.rounds(overlap.with(Way.COMMUNICATE).with(Quantity.WAITED)).time(),
                waitedAtEnd.time(),
                waited.time(),
                hidden.time(),
                hidden.ratioTo(waitedAtEnd),
                gained.time());
    }
}
