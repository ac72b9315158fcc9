package org.horovod4j.runtime.autotune;

import org.horovod4j.spi.Tuning;
import org.jspecify.annotations.Nullable;

import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.stream.LongStream;

/// Decides which tuning to measure next: a search along one knob at a time, from the best tuning
/// so far.
///
/// For each knob it measures a value below and a value above the best one, then the top of the
/// parabola through the three scores. The first sweep over the knobs goes to both ends of their
/// ranges. A sweep that finds a better tuning halves the reach of the next one. A sweep that finds
/// none starts over with the full reach and new measurements, because other load on the machine may
/// have spoilt a sample.
///
/// It needs no random numbers, and a decision costs microseconds. [Autotuner] compares the result
/// with the defaults, so a lucky score does no harm.
final class CoordinateSearch {
    private static final double FULL_REACH = 1;

    /// More than the noise of a sample on a quiet machine, as a difference of logarithms.
    private static final double CLEARLY_LOWER = 0.05;

    private final Tuning defaults;
    private final List<Axis> axes;
    private final Map<Tuning, Score> scores = new LinkedHashMap<>();
    private Tuning best;
    private int samples;
    private int axis;
    private double reach = FULL_REACH;
    private boolean improved;
    private boolean interpolated;

    CoordinateSearch(SearchSpace searchSpace, Tuning defaults) {
        this.defaults = defaults;
        this.best = defaults;
        this.axes = searchSpace.free().stream().map(knob -> Axis.of(knob, defaults)).toList();
    }

    /// The mean of the logarithms of a tuning's scores: what changes the speed and what disturbs a
    /// measurement both act by factors.
    private record Score(double logSum, int count) {
        double mean() {
            return logSum / count;
        }
    }

    /// Adds a measurement of [#next], or of the defaults as the first.
    void observe(Tuning tuning, double score) {
        samples++;
        scores.merge(
                tuning,
                new Score(Math.log(score), 1),
                (a, b) -> new Score(a.logSum + b.logSum, a.count + b.count));
        Tuning highest = highest();
        improved |= !highest.equals(best);
        best = highest;
    }

    private Tuning highest() {
        Tuning highest = defaults;
        for (Tuning tuning : scores.keySet()) {
            if (mean(tuning) > mean(highest)) {
                highest = tuning;
            }
        }
        return highest;
    }

    private double mean(Tuning tuning) {
        Score score = scores.get(tuning);
        return score == null ? Double.NEGATIVE_INFINITY : score.mean();
    }

    int samples() {
        return samples;
    }

    /// The tuning with the highest mean score so far.
    Tuning best() {
        return best;
    }

    /// The mean score of a tuning that was measured.
    double score(Tuning tuning) {
        return Math.exp(mean(tuning));
    }

    /// The tuning to measure next.
    Tuning next() {
        while (true) {
            Tuning next = nextOnAxis(axes.get(axis));
            if (next != null) {
                return next;
            }
            interpolated = false;
            axis++;
            if (axis == axes.size()) {
                endSweep();
            }
        }
    }

    private void endSweep() {
        axis = 0;
        if (improved) {
            reach /= 2;
        } else {
            reach = FULL_REACH;
            scores.keySet().retainAll(List.of(defaults, best));
        }
        improved = false;
    }

    /// The next value of one knob to measure, with the other knobs as in the best tuning; null when
    /// this sweep is done with the knob.
    private @Nullable Tuning nextOnAxis(Axis axis) {
        int center = axis.index(best);
        int last = axis.values.size() - 1;
        TreeMap<Integer, Double> known = new TreeMap<>();
        for (int index = 0; index <= last; index++) {
            Score score = scores.get(axis.move(best, index));
            if (score != null) {
                known.put(index, score.mean());
            }
        }
        Integer below = known.lowerKey(center);
        Integer above = known.higherKey(center);
        int low = center - (int) Math.ceil(center * reach);
        int high = center + (int) Math.ceil((last - center) * reach);
        boolean needsLow = low < center && !isBound(known, center, below, low);
        boolean needsHigh = high > center && !isBound(known, center, above, high);
        if (needsLow || needsHigh) { // the longer side first: it is more likely to gain
            boolean goHigh = needsHigh && (!needsLow || last - center >= center);
            return axis.move(best, goHigh ? high : low);
        }
        if (interpolated) {
            return null;
        }
        interpolated = true;
        int top;
        if (below != null && above != null) {
            top = Math.clamp(topOfParabola(known, below, center, above), 0, last);
        } else if (below != null) {
            top = (below + center) / 2;
        } else {
            top = above == null ? center : (center + above) / 2;
        }
        return known.containsKey(top) ? null : axis.move(best, top);
    }

    /// Whether enough is known on one side of `center`: a score there, and in a sweep over the full
    /// range one that is clearly lower or is that of the end. Otherwise noise alone could turn the
    /// search away from the better side.
    ///
    /// @param nearest the next index on that side that has a score
    private boolean isBound(
            Map<Integer, Double> known, int center, @Nullable Integer nearest, int end) {
        return nearest != null
                && (reach < FULL_REACH
                        || known.containsKey(end)
                        || score(known, nearest) < score(known, center) - CLEARLY_LOWER);
    }

    private static double score(Map<Integer, Double> scores, int index) {
        return Objects.requireNonNull(scores.get(index));
    }

    /// The index where a parabola through three scores is highest; `center` if it has no top.
    private static long topOfParabola(
            Map<Integer, Double> scores, int below, int center, int above) {
        double left = (score(scores, below) - score(scores, center)) / (below - center);
        double right = (score(scores, above) - score(scores, center)) / (above - center);
        double curvature = (left - right) / (below - above);
        double slope = left - curvature * (below - center);
        return curvature < 0 ? Math.round(center - slope / (2 * curvature)) : center;
    }

    /// The values of one knob to choose from, ascending. The default is one of them.
    record Axis(Knob knob, List<Long> values) {
        static Axis of(Knob knob, Tuning defaults) {
            return new Axis(
                    knob,
                    LongStream.concat(knob.candidateValues(), LongStream.of(knob.read(defaults)))
                            .boxed()
                            .distinct()
                            .sorted(Comparator.comparingDouble(knob::logScale))
                            .toList());
        }

        int index(Tuning tuning) {
            return values.indexOf(knob.read(tuning));
        }

        Tuning move(Tuning tuning, int index) {
            return knob.withValue(tuning, values.get(index));
        }
    }
}
