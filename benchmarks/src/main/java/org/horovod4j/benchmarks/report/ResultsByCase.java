package org.horovod4j.benchmarks.report;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// All results of a run, found by what was tried.
///
/// @param <T> what was tried: all rounds of one trial make one figure
public final class ResultsByCase<T> {
    /// In the order in which they were first measured.
    private final Map<T, RoundTimes> rounds;

    /// @param trial tells what a result is of
    public ResultsByCase(List<Result> results, Function<Result, T> trial) {
        if (results.isEmpty()) {
            throw new IllegalArgumentException("no results, so nothing to report");
        }
        this.rounds =
                results.stream()
                        .collect(
                                Collectors.groupingBy(
                                        trial,
                                        LinkedHashMap::new,
                                        Collectors.collectingAndThen(
                                                Collectors.toList(),
                                                all -> RoundTimes.of(all.stream()))));
    }

    /// Each once, in the order in which they were first measured.
    public Stream<T> cases() {
        return rounds.keySet().stream();
    }

    /// Empty for what was not tried.
    public RoundTimes rounds(T trial) {
        return rounds.getOrDefault(trial, RoundTimes.NONE);
    }
}
