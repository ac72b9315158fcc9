package org.horovod4j.benchmarks.runtime;

import org.horovod4j.benchmarks.report.ResultsByCase;
import org.horovod4j.benchmarks.report.RoundTimes;
import org.horovod4j.benchmarks.report.Table;

import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/// Our gradients beside those of `ProcessGroupGloo`, which took turns in the same processes.
final class GlooTable {
    private GlooTable() {}

    /// Whether a case belongs to this table instead of the table of steps.
    static boolean includes(RuntimeCase runtimeCase) {
        if (runtimeCase.isOtherProgram()) {
            return false;
        }
        StepVariant variant = runtimeCase.variant();
        return variant.mode() == StepMode.GLOO
                || variant.mode() == StepMode.GLOOFLAT
                || variant.runtimeSetting() == RuntimeSetting.TCP;
    }

    /// Empty if Gloo was not measured.
    static Optional<Table> of(ResultsByCase<RuntimeCase> resultsByCase) {
        List<RuntimeCase> gloo =
                resultsByCase
                        .cases()
                        .filter(GlooTable::includes)
                        .filter(each -> each.variant().mode() == StepMode.GLOO)
                        .sorted(
                                Comparator.comparingInt(RuntimeCase::np)
                                        .thenComparing(RuntimeCase::workload)
                                        .thenComparing(each -> each.variant().runtimeSetting())
                                        .thenComparing(each -> each.variant().memory()))
                        .toList();
        if (gloo.isEmpty()) {
            return Optional.empty();
        }
        Table table =
                new Table(
                        List.of(
                                "np",
                                "work",
                                "program",
                                "time",
                                "each by Gloo",
                                "one by Gloo",
                                "speedup over each",
                                "speedup over one"));
        gloo.forEach(runtimeCase -> table.add(row(resultsByCase, runtimeCase)));
        return Optional.of(table);
    }

    private static List<String> row(
            ResultsByCase<RuntimeCase> resultsByCase, RuntimeCase runtimeCase) {
        StepVariant ours = runtimeCase.variant().with(StepMode.ASYNC);
        RoundTimes async = resultsByCase.rounds(runtimeCase.with(ours));
        RoundTimes each = resultsByCase.rounds(runtimeCase);
        RoundTimes one = resultsByCase.rounds(runtimeCase.with(ours.with(StepMode.GLOOFLAT)));
        return List.of(
                Integer.toString(runtimeCase.np()),
                runtimeCase.workload().title(),
                ours.toString(),
                async.timeCell(),
                each.timeCell(),
                one.timeCell(),
                each.ratioCell(async),
                one.ratioCell(async));
    }
}
