package org.horovod4j.benchmarks.runtime;

import org.horovod4j.benchmarks.report.Result;
import org.horovod4j.benchmarks.report.Rounds;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// All results of a run, found by what was tried.
final class Trials {
    /// In the order in which they were first measured.
    private final Map<Trial, Rounds> rounds;

    Trials(List<Result> results) {
        if (results.isEmpty()) {
            throw new IllegalArgumentException("no results, so nothing to report");
        }
        this.rounds =
                results.stream()
                        .collect(
                                Collectors.groupingBy(
                                        Trials::trial,
                                        LinkedHashMap::new,
                                        Collectors.collectingAndThen(
                                                Collectors.toList(),
                                                all -> Rounds.of(all.stream()))));
    }

    /// What was tried: all rounds of one trial make one figure.
    record Trial(int np, Workload workload, String program) {
        private static final String PEER = "openmpi";

        /// Whether this was not a [Variant] of ours.
        boolean isPeer() {
            return program.equals(PEER);
        }

        Trial peer() {
            return new Trial(np, workload, PEER);
        }

        Variant variant() {
            return Variant.parse(program);
        }

        Trial with(Variant another) {
            return new Trial(np, workload, another.toString());
        }

        Trial on(int processes) {
            return new Trial(processes, workload, program);
        }
    }

    /// Each once, in the order in which they were first measured.
    Stream<Trial> all() {
        return rounds.keySet().stream();
    }

    /// Empty for what was not tried.
    Rounds rounds(Trial trial) {
        return rounds.getOrDefault(trial, Rounds.NONE);
    }

    int fewestProcesses() {
        return all().mapToInt(Trial::np).min().orElseThrow();
    }

    private static Trial trial(Result result) {
        return new Trial(result.np(), Workload.of(result.byteSize()), result.program());
    }
}
