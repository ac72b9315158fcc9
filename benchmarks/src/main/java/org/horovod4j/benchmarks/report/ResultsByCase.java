package org.horovod4j.benchmarks.report;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/// All results of a run, grouped by case.
///
/// @param <T> the case: all its rounds are summarized in one value
public final class ResultsByCase<T> {
    /// In the order of their first measurement.
    private final Map<T, RoundTimes> rounds;

    /// @param trial returns the case of a result
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

    /// All distinct cases, in the order of their first measurement.
    public Stream<T> cases() {
        return rounds.keySet().stream();
    }

    /// Empty for a case that was not measured.
    public RoundTimes rounds(T trial) {
        return rounds.getOrDefault(trial, RoundTimes.NONE);
    }
}
