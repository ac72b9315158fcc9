package org.horovod4j.benchmarks.runtime;

import org.horovod4j.benchmarks.report.ResultsByCase;
import org.horovod4j.benchmarks.report.RoundTimes;
import org.horovod4j.benchmarks.report.Table;

import java.util.Comparator;
import java.util.EnumSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/// The share of communication that overlaps with the backward pass.
final class RuntimeOverlapTable {
    private static final Set<StepMode> MODES =
            EnumSet.of(StepMode.COMPUTE, StepMode.COMMUNICATE, StepMode.OVERLAP);

    private RuntimeOverlapTable() {}

    /// Whether a case belongs to this table instead of the table of steps.
    static boolean includes(RuntimeCase runtimeCase) {
        return !runtimeCase.isOtherProgram() && MODES.contains(runtimeCase.variant().mode());
    }

    /// Empty if overlap was not measured.
    static Optional<Table> of(ResultsByCase<RuntimeCase> resultsByCase) {
        List<RuntimeCase> overlaps =
                resultsByCase
                        .cases()
                        .filter(RuntimeOverlapTable::includes)
                        .filter(runtimeCase -> runtimeCase.variant().mode() == StepMode.OVERLAP)
                        .sorted(
                                Comparator.comparingInt(RuntimeCase::np)
                                        .thenComparing(RuntimeCase::program))
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
        overlaps.forEach(runtimeCase -> table.add(row(resultsByCase, runtimeCase)));
        return Optional.of(table);
    }

    private static List<String> row(
            ResultsByCase<RuntimeCase> resultsByCase, RuntimeCase runtimeCase) {
        StepVariant stepVariant = runtimeCase.variant();
        RoundTimes compute =
                resultsByCase.rounds(runtimeCase.with(stepVariant.with(StepMode.COMPUTE)));
        RoundTimes communicate =
                resultsByCase.rounds(runtimeCase.with(stepVariant.with(StepMode.COMMUNICATE)));
        RoundTimes both = resultsByCase.rounds(runtimeCase);
        RoundTimes saved =
                compute.combine(communicate, Double::sum).combine(both, (sum, b) -> sum - b);
        return List.of(
                Integer.toString(runtimeCase.np()),
                runtimeCase.program(),
                compute.timeCell(),
                communicate.timeCell(),
                both.timeCell(),
                both.ratioCell(compute),
                saved.ratioCell(communicate));
    }
}
