package org.horovod4j.benchmarks.runtime;

import org.horovod4j.benchmarks.report.ResultsByCase;
import org.horovod4j.benchmarks.report.RoundTimes;
import org.horovod4j.benchmarks.report.Table;

import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/// The cost of a node in a TensorFlow graph.
final class GraphTable {
    private GraphTable() {}

    /// Whether a case belongs to this table instead of the table of steps.
    static boolean includes(RuntimeCase runtimeCase) {
        return !runtimeCase.isOtherProgram() && runtimeCase.variant().mode() == StepMode.NOOP;
    }

    /// Empty if no graph was measured.
    static Optional<Table> of(ResultsByCase<RuntimeCase> resultsByCase) {
        List<RuntimeCase> graphs =
                resultsByCase
                        .cases()
                        .filter(
                                runtimeCase ->
                                        !runtimeCase.isOtherProgram()
                                                && runtimeCase.variant().mode() == StepMode.GRAPH)
                        .sorted(
                                Comparator.comparingInt(RuntimeCase::np)
                                        .thenComparing(RuntimeCase::workload))
                        .toList();
        if (graphs.isEmpty()) {
            return Optional.empty();
        }
        Table table =
                new Table(
                        List.of(
                                "np",
                                "work",
                                "nodes",
                                "nodes that do nothing",
                                "nodes that reduce",
                                "difference of one node"));
        graphs.forEach(runtimeCase -> table.add(row(resultsByCase, runtimeCase)));
        return Optional.of(table);
    }

    private static List<String> row(
            ResultsByCase<RuntimeCase> resultsByCase, RuntimeCase runtimeCase) {
        RoundTimes noop =
                resultsByCase.rounds(runtimeCase.with(runtimeCase.variant().with(StepMode.NOOP)));
        RoundTimes graph = resultsByCase.rounds(runtimeCase);
        int nodes = runtimeCase.workload().parameters().size();
        RoundTimes ofOneNode =
                graph.combine(noop, (reduced, nothing) -> (reduced - nothing) / nodes);
        return List.of(
                Integer.toString(runtimeCase.np()),
                runtimeCase.workload().title(),
                Integer.toString(nodes),
                noop.timeCell(),
                graph.timeCell(),
                ofOneNode.timeCell());
    }
}
