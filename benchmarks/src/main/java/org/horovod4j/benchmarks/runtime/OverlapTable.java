package org.horovod4j.benchmarks.runtime;

import org.horovod4j.benchmarks.report.Rounds;
import org.horovod4j.benchmarks.report.Table;
import org.horovod4j.benchmarks.report.Trials;

import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/// How much of the communication a backward pass hides.
final class OverlapTable {
    private static final Set<Way> WAYS = EnumSet.of(Way.COMPUTE, Way.COMMUNICATE, Way.OVERLAP);

    private OverlapTable() {}

    /// Whether a trial has its place here rather than among the steps.
    static boolean has(Trial trial) {
        return !trial.isPeer() && WAYS.contains(trial.variant().way());
    }

    /// Empty where overlap was not measured.
    static Optional<Table> of(Trials<Trial> trials) {
        List<Trial> overlaps =
                trials.all()
                        .filter(OverlapTable::has)
                        .filter(trial -> trial.variant().way() == Way.OVERLAP)
                        .toList();
        if (overlaps.isEmpty()) {
            return Optional.empty();
        }
        Table table =
                new Table(
                        List.of(
                                "np",
                                "program",
                                "compute alone",
                                "communicate alone",
                                "both",
                                "both ÷ compute",
                                "hidden"));
        overlaps.forEach(trial -> table.add(row(trials, trial)));
        return Optional.of(table);
    }

    private static List<String> row(Trials<Trial> trials, Trial trial) {
        Variant variant = trial.variant();
        Rounds compute = trials.rounds(trial.with(variant.with(Way.COMPUTE)));
        Rounds communicate = trials.rounds(trial.with(variant.with(Way.COMMUNICATE)));
        Rounds both = trials.rounds(trial);
        Rounds saved = compute.with(communicate, Double::sum).with(both, (sum, b) -> sum - b);
        return List.of(
                Integer.toString(trial.np()),
                trial.program(),
                compute.time(),
                communicate.time(),
                both.time(),
                both.ratioTo(compute),
                saved.ratioTo(communicate));
    }
}
