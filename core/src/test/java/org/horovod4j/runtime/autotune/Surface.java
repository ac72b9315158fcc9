package org.horovod4j.runtime.autotune;

import org.horovod4j.spi.Tuning;

import java.util.List;
import java.util.SplittableRandom;
import java.util.function.ToDoubleFunction;

/// A made-up machine: how fast it is with each tuning, and steps on it that are as uneven as real
/// ones.
///
/// @param delays what makes steps uneven
record Surface(Space space, ToDoubleFunction<Tuning> rate, Delays delays) {
    private static final long BYTES = 100_000_000;

    Surface(Space space, ToDoubleFunction<Tuning> rate) {
        this(space, rate, Delays.calm());
    }

    Surface with(Delays others) {
        return new Surface(space, rate, others);
    }

    /// The same, but its best tuning exactly so many times as fast as the defaults.
    Surface scaledTo(double bestOverDefaults) {
        double highest = highest();
        double power = Math.log(bestOverDefaults) / Math.log(highest / at(Tuning.DEFAULT));
        return new Surface(space, tuning -> 1000 * Math.pow(at(tuning) / highest, power), delays);
    }

    /// Equally fast whatever one does.
    static Surface flat(Space space) {
        return new Surface(space, tuning -> 1000);
    }

    /// Fastest at one position, and slower with the square of the distance from it; some knobs
    /// hardly matter.
    static Surface hill(Space space, double[] top, SplittableRandom random) {
        Grid grid = new Grid(space, Tuning.DEFAULT);
        double[] weights =
                random.doubles(top.length).map(x -> x < 0.3 ? 0.02 : 0.1 + 2 * x).toArray();
        return new Surface(
                space,
                tuning -> {
                    double[] position = grid.position(tuning);
                    double loss = 0;
                    for (int i = 0; i < top.length; i++) {
                        double away = position[i] - top[i];
                        loss += weights[i] * away * away;
                    }
                    return 1000 * Math.exp(-loss);
                });
    }

    /// A plain model of a job: each bundle costs its latency and the cycle time, the last bundle
    /// overlaps with nothing, and one size of rounds suits the caches. Much of it is steep.
    static Surface job(Space space, SplittableRandom random) {
        double latencyMicros = random.nextDouble(20, 200);
        double bytesPerMicro = random.nextDouble(2_000, 10_000);
        double bestRound = 16_384 << random.nextInt(6);
        return new Surface(
                space,
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

    /// What one could reach at most.
    double highest() {
        return new Grid(space, Tuning.DEFAULT)
                .candidates(Integer.MAX_VALUE, new SplittableRandom(0)).stream()
                        .mapToDouble(rate)
                        .max()
                        .orElseThrow();
    }

    double at(Tuning tuning) {
        return rate.applyAsDouble(tuning);
    }

    /// Trains until the autotuner is done.
    ///
    /// @param used gets the tuning of each step
    void train(Autotuner autotuner, SplittableRandom random, List<Tuning> used) {
        Tuning tuning = autotuner.current();
        while (!autotuner.isDone()) {
            used.add(tuning);
            Tuning next = autotuner.step(BYTES, nanos(tuning, random));
            tuning = next == null ? tuning : next;
        }
    }

    private long nanos(Tuning tuning, SplittableRandom random) {
        return Math.round(BYTES * 1e3 / at(tuning) * delays.next(tuning, random));
    }
}
