package org.horovod4j.benchmarks.report;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.DoubleBinaryOperator;
import java.util.function.Function;
import java.util.stream.Stream;

/// The times of one program in each turn, in microseconds.
///
/// Two programs are compared turn by turn, and the median is taken of the ratios. Both ran one
/// after the other in each turn, so a temporary slowdown of the machine affects both. A turn that
/// only one of them has completed is dropped from the comparison.
///
/// @param medians the time of each turn
/// @param dropped the turns that a comparison has dropped
public record RoundTimes(SortedMap<Turn, Double> medians, Set<Turn> dropped) {
    /// For a program that was not measured.
    public static final RoundTimes NONE = new RoundTimes(new TreeMap<>(), Set.of());

    /// The table cell for a missing measurement.
    public static final String MISSING = "–";

    /// When a result was measured: a round of jobs, and a turn within a job.
    public record Turn(int round, int turn) implements Comparable<Turn> {
        private static final Comparator<Turn> ORDER =
                Comparator.comparingInt(Turn::round).thenComparingInt(Turn::turn);

        @Override
        public int compareTo(Turn other) {
            return ORDER.compare(this, other);
        }

        /// Stands for all turns of the round.
        Turn wholeRound() {
            return new Turn(round, 0);
        }
    }

    public RoundTimes {
        medians = Collections.unmodifiableSortedMap(new TreeMap<>(medians));
        dropped = Set.copyOf(dropped);
    }

    /// The times of one program, of which no two have the same turn.
    public static RoundTimes of(Stream<Result> results) {
        SortedMap<Turn, Double> medians = new TreeMap<>();
        results.forEach(
                result -> {
                    Turn turn = new Turn(result.round(), result.turn());
                    if (medians.put(turn, result.micros().median()) != null) {
                        throw new IllegalArgumentException(
                                "two results of round %d, turn %d: '%s'"
                                        .formatted(result.round(), result.turn(), result.toLine()));
                    }
                });
        return new RoundTimes(medians, Set.of());
    }

    /// One time for each round: the median of its turns. Programs that run in separate jobs are
    /// compared by it, because their turns do not alternate.
    public RoundTimes perRound() {
        SortedMap<Turn, List<Double>> rounds = new TreeMap<>();
        medians.forEach(
                (turn, time) ->
                        rounds.computeIfAbsent(turn.wholeRound(), round -> new ArrayList<>())
                                .add(time));
        SortedMap<Turn, Double> times = new TreeMap<>();
        rounds.forEach((round, turns) -> times.put(round, percentiles(turns).median()));
        Set<Turn> droppedRounds = new TreeSet<>();
        dropped.forEach(turn -> droppedRounds.add(turn.wholeRound()));
        return new RoundTimes(times, droppedRounds);
    }

    /// These times without the turns that the other program was not asked to run. The rest of the
    /// comparison then counts the turns of the other program alone.
    public RoundTimes inTurnsOf(RoundTimes other) {
        SortedMap<Turn, Double> times = new TreeMap<>(medians);
        times.keySet().retainAll(other.medians().keySet());
        return new RoundTimes(times, dropped);
    }

    /// The table cell with median and spread over the turns.
    public String timeCell() {
        return cell(Units::time);
    }

    /// The table cell with a rate: `count` items in each of these times.
    public String rateCell(int count) {
        SortedMap<Turn, Double> rates = new TreeMap<>(medians);
        rates.replaceAll((turn, time) -> count * 1e6 / time);
        return new RoundTimes(rates, dropped).cell(Units::ratio);
    }

    /// The table cell with the ratio of these times to the times of `divisor`.
    public String ratioCell(RoundTimes divisor) {
        return combine(divisor, (mine, other) -> mine / other).cell(Units::ratio);
    }

    /// Combines two programs turn by turn, and drops the turns that only one of them has.
    public RoundTimes combine(RoundTimes other, DoubleBinaryOperator operator) {
        if (isMissing() || other.isMissing()) {
            return NONE;
        }
        SortedMap<Turn, Double> combined = new TreeMap<>();
        Set<Turn> unpaired = new TreeSet<>(dropped);
        unpaired.addAll(other.dropped);
        unpaired.addAll(medians.keySet());
        unpaired.addAll(other.medians.keySet());
        medians.forEach(
                (turn, mine) -> {
                    Double others = other.medians.get(turn);
                    if (others != null) {
                        combined.put(turn, operator.applyAsDouble(mine, others));
                        unpaired.remove(turn);
                    }
                });
        return new RoundTimes(combined, unpaired);
    }

    /// The median over all turns.
    public OptionalDouble median() {
        return medians.isEmpty()
                ? OptionalDouble.empty()
                : OptionalDouble.of(percentiles(medians.values()).median());
    }

    private boolean isMissing() {
        return medians.isEmpty() && dropped.isEmpty();
    }

    private String cell(Function<Percentiles, String> format) {
        String times = medians.isEmpty() ? MISSING : format.apply(percentiles(medians.values()));
        return dropped.isEmpty() ? times : "%s (%d dropped)".formatted(times, dropped.size());
    }

    private static Percentiles percentiles(Collection<Double> values) {
        return Percentiles.of(values.stream().mapToDouble(Double::doubleValue).toArray());
    }
}
