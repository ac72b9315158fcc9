package org.horovod4j.benchmarks.runtime;

import org.horovod4j.benchmarks.report.ResultsByCase;
import org.horovod4j.benchmarks.report.RoundTimes;
import org.horovod4j.benchmarks.report.Table;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/// One row for each variant of each workload: its time, and its ratios to the baselines.
final class StepTable {
    private static final Comparator<StepVariant> VARIANT_ORDER =
            Comparator.comparing(StepVariant::mode)
                    .thenComparing(StepVariant::memory)
                    .thenComparing(StepVariant::runtimeSetting)
                    .thenComparing(StepVariant::baselineRun, Comparator.reverseOrder());

    /// Other programs first. The order of measurement is random.
    private static final Comparator<RuntimeCase> ORDER =
            Comparator.comparingInt(RuntimeCase::np)
                    .thenComparing(RuntimeCase::workload)
                    .thenComparing(RuntimeCase::isOtherProgram, Comparator.reverseOrder())
                    .thenComparingInt(
                            runtimeCase ->
                                    RuntimeCase.OTHER_PROGRAMS.indexOf(runtimeCase.program()))
                    .thenComparing(RuntimeCase::variant, VARIANT_ORDER);

    private final ResultsByCase<RuntimeCase> resultsByCase;
    private final int fewestProcesses;

    /// Those that were measured.
    private final List<String> otherPrograms;

    private StepTable(ResultsByCase<RuntimeCase> resultsByCase) {
        this.resultsByCase = resultsByCase;
        this.fewestProcesses = fewestProcesses(resultsByCase);
        Set<String> measured =
                resultsByCase.cases().map(RuntimeCase::program).collect(Collectors.toSet());
        this.otherPrograms =
                RuntimeCase.OTHER_PROGRAMS.stream().filter(measured::contains).toList();
    }

    static Table of(ResultsByCase<RuntimeCase> resultsByCase) {
        return new StepTable(resultsByCase).build();
    }

    static int fewestProcesses(ResultsByCase<RuntimeCase> resultsByCase) {
        return resultsByCase.cases().mapToInt(RuntimeCase::np).min().orElseThrow();
    }

    private Table build() {
        List<String> heading = new ArrayList<>(List.of("np", "work", "program", "time"));
        otherPrograms.forEach(program -> heading.add("speedup over " + program));
        heading.addAll(List.of("time ÷ flat", "time ÷ plain", "time ÷ np " + fewestProcesses));
        Table table = new Table(heading);
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
        cells.addAll(
                runtimeCase.isOtherProgram()
                        ? Collections.nCopies(otherPrograms.size() + 2, RoundTimes.MISSING)
                        : ratios(runtimeCase, roundTimes));
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
        List<String> cells = new ArrayList<>();
        for (String program : otherPrograms) {
            RoundTimes others = resultsByCase.rounds(runtimeCase.withProgram(program));
            cells.add(takesTurns ? perRoundRatio(others, roundTimes) : RoundTimes.MISSING);
        }
        // No ratios for the raw collective and for a variant without a setting: they are the
        // baselines.
        cells.add(
                stepVariant.mode() == StepMode.FLAT || !takesTurns
                        ? RoundTimes.MISSING
                        : roundTimes.ratioCell(
                                resultsByCase.rounds(runtimeCase.with(stepVariant.flat()))));
        cells.add(
                stepVariant.isBaseline()
                        ? RoundTimes.MISSING
                        : plainRatio(runtimeCase, roundTimes));
        return cells;
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
