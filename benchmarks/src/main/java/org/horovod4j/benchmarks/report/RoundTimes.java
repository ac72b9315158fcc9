package org.horovod4j.benchmarks.report;

import java.util.List;
import java.util.function.DoubleBinaryOperator;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/// The times of one program in each round, in microseconds, in the order of the rounds.
///
/// Two programs are compared round by round, and the median is taken of the ratios. Both ran one
/// after the other in each round, so a temporary slowdown of the machine affects both.
public record RoundTimes(List<Double> medians) {
    /// For a program that was not measured.
    public static final RoundTimes NONE = new RoundTimes(List.of());

    /// The table cell for a missing measurement.
    public static final String MISSING = "–";

    public RoundTimes {
        medians = List.copyOf(medians);
    }

    public static RoundTimes of(Stream<Result> results) {
        return new RoundTimes(results.map(result -> result.micros().median()).toList());
    }

    /// The table cell with median and spread over the rounds.
    public String timeCell() {
        return medians.isEmpty() ? MISSING : Units.time(percentiles());
    }

    /// The table cell with a rate: `count` items in each of these times.
    public String rateCell(int count) {
        return medians.isEmpty()
                ? MISSING
                : Units.ratio(
                        Percentiles.of(
                                medians.stream().mapToDouble(t -> count * 1e6 / t).toArray()));
    }

    /// The table cell with the ratio of these times to the times of `divisor`.
    public String ratioCell(RoundTimes divisor) {
        RoundTimes ratios = combine(divisor, (mine, other) -> mine / other);
        return ratios.medians().isEmpty() ? MISSING : Units.ratio(ratios.percentiles());
    }

    /// Combines two programs round by round, up to the shorter number of rounds.
    public RoundTimes combine(RoundTimes other, DoubleBinaryOperator operator) {
        return new RoundTimes(
                IntStream.range(0, Math.min(medians.size(), other.medians.size()))
                        .mapToDouble(
                                round ->
                                        operator.applyAsDouble(
                                                medians.get(round), other.medians.get(round)))
                        .boxed()
                        .toList());
    }

    private Percentiles percentiles() {
        return Percentiles.of(medians.stream().mapToDouble(Double::doubleValue).toArray());
    }
}
