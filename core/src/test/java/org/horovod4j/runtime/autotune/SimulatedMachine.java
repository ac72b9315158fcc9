package org.horovod4j.runtime.autotune;

import org.horovod4j.spi.Tuning;

import java.util.List;
import java.util.SplittableRandom;
import java.util.function.ToDoubleFunction;

/// A simulated machine: its speed with each tuning, and steps with realistic noise.
///
/// @param stepDelays the noise of steps
record SimulatedMachine(
        SearchSpace searchSpace, ToDoubleFunction<Tuning> rate, StepDelays stepDelays) {
    private static final long BYTES = 100_000_000;

    SimulatedMachine(SearchSpace searchSpace, ToDoubleFunction<Tuning> rate) {
        this(searchSpace, rate, StepDelays.calm());
    }

    SimulatedMachine with(StepDelays others) {
        return new SimulatedMachine(searchSpace, rate, others);
    }

    /// The same machine, with its best tuning this many times as fast as the defaults.
    SimulatedMachine scaledTo(double bestOverDefaults) {
        double highest = highest();
        double power = Math.log(bestOverDefaults) / Math.log(highest / at(Tuning.DEFAULT));
        return new SimulatedMachine(
                searchSpace, tuning -> 1000 * Math.pow(at(tuning) / highest, power), stepDelays);
    }

    /// Equally fast with every tuning.
    static SimulatedMachine flat(SearchSpace searchSpace) {
        return new SimulatedMachine(searchSpace, tuning -> 1000);
    }

    /// Fastest at one position, and slower with the square of the distance from it; some knobs have
    /// little effect.
    static SimulatedMachine hill(SearchSpace searchSpace, double[] top, SplittableRandom random) {
        double[] weights =
                random.doubles(top.length).map(x -> x < 0.3 ? 0.02 : 0.1 + 2 * x).toArray();
        return new SimulatedMachine(
                searchSpace,
                tuning -> {
                    double[] position = position(searchSpace, tuning);
                    double loss = 0;
                    for (int i = 0; i < top.length; i++) {
                        double away = position[i] - top[i];
                        loss += weights[i] * away * away;
                    }
                    return 1000 * Math.exp(-loss);
                });
    }

    /// A simple model of a job: each batch costs its latency and the cycle time, the last batch
    /// overlaps with nothing, and one size of rounds suits the caches. The slopes are steep.
    static SimulatedMachine job(SearchSpace searchSpace, SplittableRandom random) {
        double latencyMicros = random.nextDouble(20, 200);
        double bytesPerMicro = random.nextDouble(2_000, 10_000);
        double bestRound = 16_384 << random.nextInt(6);
        return new SimulatedMachine(
                searchSpace,
                tuning -> {
                    double fused = Math.min(BYTES, tuning.fusionThreshold());
                    double cycle = tuning.cycleTime().toNanos() / 1e3;
                    double rounds = Math.abs(Math.log(tuning.roundBytes() / bestRound));
                    double micros =
                            BYTES / fused * (latencyMicros + cycle)
                                    + (BYTES + fused) / bytesPerMicro * (1 + 0.1 * rounds);
                    return BYTES / micros;
                });
    }

    /// The speed of the best tuning.
    double highest() {
        return tunings(searchSpace).stream().mapToDouble(rate).max().orElseThrow();
    }

    private static List<Tuning> tunings(SearchSpace searchSpace) {
        List<Tuning> tunings = List.of(Tuning.DEFAULT);
        for (Knob knob : searchSpace.free()) {
            tunings =
                    tunings.stream()
                            .flatMap(
                                    tuning ->
                                            knob.candidateValues()
                                                    .mapToObj(
                                                            value -> knob.withValue(tuning, value)))
                            .toList();
        }
        return tunings;
    }

    /// A coordinate from 0 to 1 for each free knob, on its logarithmic scale.
    static double[] position(SearchSpace searchSpace, Tuning tuning) {
        return searchSpace.free().stream()
                .mapToDouble(
                        knob -> {
                            double[] places =
                                    knob.candidateValues().mapToDouble(knob::logScale).toArray();
                            double low = places[0];
                            double high = places[places.length - 1];
                            return (knob.logScale(knob.read(tuning)) - low) / (high - low);
                        })
                .toArray();
    }

    double at(Tuning tuning) {
        return rate.applyAsDouble(tuning);
    }

    /// Trains until the autotuner is done.
    ///
    /// @param used receives the tuning of each step
    void train(Autotuner autotuner, SplittableRandom random, List<Tuning> used) {
        Tuning tuning = autotuner.current();
        while (!autotuner.isDone()) {
            used.add(tuning);
            Tuning next = autotuner.step(BYTES, nanos(tuning, random));
            tuning = next == null ? tuning : next;
        }
    }

    private long nanos(Tuning tuning, SplittableRandom random) {
        return Math.round(BYTES * 1e3 / at(tuning) * stepDelays.next(tuning, random));
    }
}
