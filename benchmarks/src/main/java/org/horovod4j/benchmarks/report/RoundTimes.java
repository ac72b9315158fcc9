package org.horovod4j.benchmarks.report;

import java.util.List;
import java.util.function.DoubleBinaryOperator;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/// What one program took in each round, in microseconds and the order of the rounds.
///
/// Two programs are compared round by round, since those ran one after the other, and only then is
/// the median taken: what slows the machine for a minute slows both.
public record RoundTimes(List<Double> medians) {
    /// Of a program that was not measured.
    public static final RoundTimes NONE = new RoundTimes(List.of());

    /// The cell of a table for what was not measured.
    public static final String MISSING = "–";

    public RoundTimes {
        medians = List.copyOf(medians);
    }

    public static RoundTimes of(Stream<Result> results) {
        return new RoundTimes(results.map(result -> result.micros().median()).toList());
    }

    /// The cell of a table: median and spread over the rounds.
    public String timeCell() {
        return medians.isEmpty() ? MISSING : Units.time(percentiles());
    }

    /// The cell of a table: how many there are in a second when each of these times brings `count`.
    public String rateCell(int count) {
        return medians.isEmpty()
                ? MISSING
                : Units.ratio(
                        Percentiles.of(
                                medians.stream().mapToDouble(t -> count * 1e6 / t).toArray()));
    }

    /// The cell of a table: these times divided by the other's.
    public String ratioCell(RoundTimes divisor) {
        RoundTimes ratios = combine(divisor, (mine, other) -> mine / other);
        return ratios.medians().isEmpty() ? MISSING : Units.ratio(ratios.percentiles());
    }

    /// Combines two programs round by round, as far as both have rounds.
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
