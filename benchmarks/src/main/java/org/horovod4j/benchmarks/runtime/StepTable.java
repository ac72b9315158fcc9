package org.horovod4j.benchmarks.runtime;

import org.horovod4j.benchmarks.report.ResultsByCase;
import org.horovod4j.benchmarks.report.RoundTimes;
import org.horovod4j.benchmarks.report.Table;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;

/// One row for each variant of each workload: its time, and its ratios to the baselines.
final class StepTable {
    /// Open MPI has one row without ratios.
    private static final List<String> OPEN_MPI_RATIOS = Collections.nCopies(3, RoundTimes.MISSING);

    private static final Comparator<StepVariant> VARIANT_ORDER =
            Comparator.comparing(StepVariant::mode)
                    .thenComparing(StepVariant::memory)
                    .thenComparing(StepVariant::runtimeSetting)
                    .thenComparing(StepVariant::baselineRun, Comparator.reverseOrder());

    /// Open MPI first. The order of measurement is random.
    private static final Comparator<RuntimeCase> ORDER =
            Comparator.comparingInt(RuntimeCase::np)
                    .thenComparing(RuntimeCase::workload)
                    .thenComparing(RuntimeCase::isOpenMpi, Comparator.reverseOrder())
                    .thenComparing(RuntimeCase::variant, VARIANT_ORDER);

    private final ResultsByCase<RuntimeCase> resultsByCase;
    private final int fewestProcesses;

    private StepTable(ResultsByCase<RuntimeCase> resultsByCase) {
        this.resultsByCase = resultsByCase;
        this.fewestProcesses = fewestProcesses(resultsByCase);
    }

    static Table of(ResultsByCase<RuntimeCase> resultsByCase) {
        return new StepTable(resultsByCase).build();
    }

    static int fewestProcesses(ResultsByCase<RuntimeCase> resultsByCase) {
        return resultsByCase.cases().mapToInt(RuntimeCase::np).min().orElseThrow();
    }

    private Table build() {
        Table table =
                new Table(
                        List.of(
                                "np",
                                "work",
                                "program",
                                "time",
                                "speedup over openmpi",
                                "time ÷ flat",
                                "time ÷ plain",
                                "time ÷ np " + fewestProcesses));
        resultsByCase
                .cases()
                .filter(runtimeCase -> !RuntimeOverlapTable.includes(runtimeCase))
                .filter(runtimeCase -> !GraphTable.includes(runtimeCase))
                .filter(runtimeCase -> !GlooTable.includes(runtimeCase))
                .sorted(ORDER)
                .forEach(runtimeCase -> table.add(row(runtimeCase)));
        return table;
    }

    private List<String> row(RuntimeCase runtimeCase) {
        RoundTimes roundTimes = resultsByCase.rounds(runtimeCase);
        List<String> cells =
                new ArrayList<>(
                        List.of(
                                Integer.toString(runtimeCase.np()),
                                runtimeCase.workload().title(),
                                runtimeCase.program(),
                                roundTimes.timeCell()));
        cells.addAll(runtimeCase.isOpenMpi() ? OPEN_MPI_RATIOS : ratios(runtimeCase, roundTimes));
        cells.add(
                runtimeCase.np() == fewestProcesses
                        ? RoundTimes.MISSING
                        : perRoundRatio(
                                roundTimes,
                                resultsByCase.rounds(runtimeCase.withProcesses(fewestProcesses))));
        return cells;
    }

    private List<String> ratios(RuntimeCase runtimeCase, RoundTimes roundTimes) {
        StepVariant stepVariant = runtimeCase.variant();
        boolean takesTurns = stepVariant.runtimeSetting().isSwitchable();
        // No ratios for the raw collective and for a variant without a setting: they are the
        // baselines.
        return List.of(
                takesTurns
                        ? perRoundRatio(resultsByCase.rounds(runtimeCase.openMpi()), roundTimes)
                        : RoundTimes.MISSING,
                stepVariant.mode() == StepMode.FLAT || !takesTurns
                        ? RoundTimes.MISSING
                        : roundTimes.ratioCell(
                                resultsByCase.rounds(runtimeCase.with(stepVariant.flat()))),
                stepVariant.isBaseline()
                        ? RoundTimes.MISSING
                        : plainRatio(runtimeCase, roundTimes));
    }

    private String plainRatio(RuntimeCase runtimeCase, RoundTimes roundTimes) {
        StepVariant stepVariant = runtimeCase.variant();
        RoundTimes plain = resultsByCase.rounds(runtimeCase.with(stepVariant.baseline()));
        return stepVariant.runtimeSetting().isSwitchable()
                ? roundTimes.ratioCell(plain)
                : perRoundRatio(roundTimes, plain);
    }

    /// The ratio of two jobs of each round. The turns of separate jobs do not alternate, so only
    /// the jobs are compared.
    private static String perRoundRatio(RoundTimes dividend, RoundTimes divisor) {
        return dividend.perRound().ratioCell(divisor.perRound());
    }
}
