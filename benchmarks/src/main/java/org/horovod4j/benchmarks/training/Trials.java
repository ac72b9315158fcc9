package org.horovod4j.benchmarks.training;

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
                                        Trial::of,
                                        LinkedHashMap::new,
                                        Collectors.collectingAndThen(
                                                Collectors.toList(),
                                                all -> Rounds.of(all.stream()))));
    }

    /// Each once, in the order in which they were first measured.
    Stream<Trial> all() {
        return rounds.keySet().stream();
    }

    /// Empty for what was not tried.
    Rounds rounds(Trial trial) {
        return rounds.getOrDefault(trial, Rounds.NONE);
    }
}
