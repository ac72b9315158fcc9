package org.horovod4j.runtime.autotune;

import org.horovod4j.spi.Tuning;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.random.RandomGenerator;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/// All tunings that may be tried: every combination of the values of the free knobs. The defaults
/// are always one of them, also where they stand between or beyond the rungs of a ladder.
///
/// A tuning's position has a coordinate from 0 to 1 for each free knob, by order of magnitude.
final class Grid {
    private final Tuning defaults;
    private final List<Axis> axes;

    Grid(SearchSpace searchSpace, Tuning defaults) {
        this.defaults = defaults;
        this.axes =
                searchSpace.free().stream()
                        .map(knob -> Axis.of(knob, knob.read(defaults)))
                        .toList();
    }

    int dimensions() {
        return axes.size();
    }

    double[] position(Tuning tuning) {
        return axes.stream().mapToDouble(axis -> axis.position(tuning)).toArray();
    }

    /// The tuning next to a position.
    Tuning nearest(double[] position) {
        return tuning(
                IntStream.range(0, axes.size())
                        .map(axis -> axes.get(axis).nearest(position[axis]))
                        .toArray());
    }

    /// All tunings if they are at most `limit`, else as many at random.
    List<Tuning> candidates(int limit, RandomGenerator random) {
        long all = axes.stream().mapToLong(axis -> axis.values().size()).reduce(1, (a, b) -> a * b);
        LongStream numbers = all <= limit ? LongStream.range(0, all) : random.longs(limit, 0, all);
        return numbers.mapToObj(this::numbered).toList();
    }

    /// The tunings one step away along one knob.
    List<Tuning> neighbours(Tuning tuning) {
        List<Tuning> neighbours = new ArrayList<>();
        for (Axis axis : axes) {
            int index = axis.nearest(axis.position(tuning));
            if (index > 0) {
                neighbours.add(axis.knob().withValue(tuning, axis.values().get(index - 1)));
            }
            if (index < axis.values().size() - 1) {
                neighbours.add(axis.knob().withValue(tuning, axis.values().get(index + 1)));
            }
        }
        return neighbours;
    }

    /// Counts through the grid: the first knob is the last digit.
    private Tuning numbered(long number) {
        int[] indices = new int[axes.size()];
        long rest = number;
        for (int axis = 0; axis < indices.length; axis++) {
            int length = axes.get(axis).values().size();
            indices[axis] = (int) (rest % length);
            rest /= length;
        }
        return tuning(indices);
    }

    private Tuning tuning(int[] indices) {
        Tuning tuning = defaults;
        for (int axis = 0; axis < indices.length; axis++) {
            Knob knob = axes.get(axis).knob();
            tuning = knob.withValue(tuning, axes.get(axis).values().get(indices[axis]));
        }
        return tuning;
    }

    /// The values of one knob, upwards.
    private record Axis(Knob knob, List<Long> values) {
        static Axis of(Knob knob, long byDefault) {
            return new Axis(
                    knob,
                    LongStream.concat(knob.candidateValues(), LongStream.of(byDefault))
                            .boxed()
                            .distinct()
                            .sorted(Comparator.comparingDouble(knob::logScale))
                            .toList());
        }

        double position(Tuning tuning) {
            return position(knob.read(tuning));
        }

        private double position(long value) {
            double low = knob.logScale(values.getFirst());
            double high = knob.logScale(values.getLast());
            return (knob.logScale(value) - low) / (high - low);
        }

        int nearest(double position) {
            return IntStream.range(0, values.size())
                    .boxed()
                    .min(
                            Comparator.comparingDouble(
                                    index -> Math.abs(position(values.get(index)) - position)))
                    .orElseThrow();
        }
    }
}
