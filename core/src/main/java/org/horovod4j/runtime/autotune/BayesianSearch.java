package org.horovod4j.runtime.autotune;

import org.horovod4j.option.AutotuneSettings;
import org.horovod4j.spi.Tuning;
import org.jspecify.annotations.Nullable;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/// Decides what to try next from what was measured so far.
///
/// The defaults come first, then a few tunings spread over the grid; from then on, the one with the
/// highest expected improvement under the [ScoreModel] of all samples. A decision costs some
/// milliseconds, on one rank.
final class BayesianSearch {
    private static final int CANDIDATES = 2000;

    /// Spread tunings per knob, before the model is asked.
    private static final int SPREAD = 1;

    /// A gain too small to look for, in standard deviations of the scores: else the search would
    /// polish what it has instead of looking elsewhere.
    private static final double MARGIN = 0.01;

    private final Grid grid;
    private final double maxNoise;
    private final SplittableRandom random;
    private final List<Tuning> spread;
    private final List<Tuning> tried = new ArrayList<>();
    private final List<Double> scores = new ArrayList<>();

    /// Of what was observed last, once it is asked for.
    private @Nullable ScoreModel model;

    /// @param maxNoise see [AutotuneSettings#noise]
    BayesianSearch(Grid grid, Tuning defaults, int maxSamples, double maxNoise, long seed) {
        this.grid = grid;
        this.maxNoise = maxNoise;
        this.random = new SplittableRandom(seed);
        this.spread = new ArrayList<>(List.of(defaults));
        spread.addAll(latinHypercube(Math.min(SPREAD * grid.dimensions(), maxSamples / 3)));
    }

    /// Points of which no two lie in the same slice of any coordinate.
    private List<Tuning> latinHypercube(int count) {
        double[][] points = new double[count][grid.dimensions()];
        for (int axis = 0; axis < grid.dimensions(); axis++) {
            List<Integer> slices =
                    IntStream.range(0, count)
                            .boxed()
                            .collect(Collectors.toCollection(ArrayList::new));
            for (double[] point : points) {
                int slice = slices.remove(/* index */ random.nextInt(slices.size()));
                point[axis] = (slice + 0.5) / count;
            }
        }
        return Arrays.stream(points).map(grid::nearest).toList();
    }

    void observe(Tuning tuning, double score) {
        tried.add(tuning);
        scores.add(score);
        model = null;
    }

    int samples() {
        return tried.size();
    }

    Tuning next() {
        if (tried.size() < spread.size()) {
            return spread.get(tried.size());
        }
        Tuning best = best();
        double toBeat = predict(best).mean() + MARGIN;
        Set<Tuning> candidates = new LinkedHashSet<>(grid.candidates(CANDIDATES, random));
        candidates.addAll(grid.neighbours(best));
        return highest(candidates, tuning -> predict(tuning).expectedImprovement(toBeat));
    }

    /// The tried tuning that the model thinks best. A single lucky score does not make a winner:
    /// its neighbours' scores count too.
    Tuning best() {
        return highest(tried, tuning -> predict(tuning).mean());
    }

    /// What the model thinks a tuning scores.
    double score(Tuning tuning) {
        return model().score(grid.position(tuning));
    }

    private Prediction predict(Tuning tuning) {
        return model().predict(grid.position(tuning));
    }

    private ScoreModel model() {
        if (model == null) {
            model = new ScoreModel(tried.stream().map(grid::position).toList(), scores, maxNoise);
        }
        return model;
    }

    /// The first of those with the highest value.
    private static Tuning highest(Collection<Tuning> tunings, ToDoubleFunction<Tuning> value) {
        Tuning highest = tunings.iterator().next();
        double most = Double.NEGATIVE_INFINITY;
        for (Tuning tuning : tunings) {
            double its = value.applyAsDouble(tuning);
            if (its > most) {
                highest = tuning;
                most = its;
            }
        }
        return highest;
    }
}
