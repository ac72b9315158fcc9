package org.horovod4j.runtime.autotune;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;

/// Finds the kernel that explains measurements best: from a usual one, it improves one number after
/// the other over a few values each, until none gets better.
///
/// With a dozen measurements and half a dozen numbers, the likelihood alone would often believe in
/// freaks, such as lengths so short that nothing is learnt from neighbours. So a kernel loses
/// points with its distance from the usual lengths.
final class KernelFit {
    private static final List<Double> LENGTHS = List.of(0.1, 0.2, 0.4, 0.8, 1.6, 3.2);
    private static final List<Double> AMPLITUDES = List.of(0.5, 1.0, 2.0, 4.0);
    private static final List<Double> NOISES = List.of(0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.0);
    private static final double USUAL_LENGTH = 0.4;

    /// The logarithm of a length is believed to be within this much of the usual two times in
    /// three.
    private static final double LENGTH_SPREAD = 0.7;

    private static final int MAX_ROUNDS = 4;

    private final List<double[]> positions;
    private final double[] values;
    private final double maxNoise;

    KernelFit(List<double[]> positions, double[] values, double maxNoise) {
        this.positions = positions;
        this.values = values;
        this.maxNoise = maxNoise;
    }

    Kernel best() {
        int dimensions = positions.getFirst().length;
        Kernel best =
                new Kernel(
                        Collections.nCopies(dimensions, USUAL_LENGTH), 1, Math.min(maxNoise, 0.2));
        for (int round = 0; round < MAX_ROUNDS; round++) {
            Kernel before = best;
            for (int i = 0; i < dimensions; i++) {
                best = better(best, withLengths(best, i));
            }
            best = better(best, withAmplitudes(best));
            best = better(best, withNoises(best));
            if (best.equals(before)) {
                break;
            }
        }
        return best;
    }

    private Kernel better(Kernel kernel, Stream<Kernel> others) {
        Kernel best = kernel;
        double highest = plausibility(kernel);
        for (Kernel other : (Iterable<Kernel>) others::iterator) {
            double plausibility = plausibility(other);
            if (plausibility > highest) {
                best = other;
                highest = plausibility;
            }
        }
        return best;
    }

    private double plausibility(Kernel kernel) {
        double penalty = 0;
        for (double length : kernel.lengths()) {
            double away = Math.log(length / USUAL_LENGTH) / LENGTH_SPREAD;
            penalty += away * away / 2;
        }
        return new GaussianProcess(positions, values, kernel).logMarginalLikelihood() - penalty;
    }

    private static Stream<Kernel> withLengths(Kernel kernel, int dimension) {
        return LENGTHS.stream()
                .map(
                        length -> {
                            List<Double> lengths = new ArrayList<>(kernel.lengths());
                            lengths.set(dimension, length);
                            return new Kernel(lengths, kernel.amplitude(), kernel.noise());
                        });
    }

    private static Stream<Kernel> withAmplitudes(Kernel kernel) {
        return AMPLITUDES.stream()
                .map(amplitude -> new Kernel(kernel.lengths(), amplitude, kernel.noise()));
    }

    private Stream<Kernel> withNoises(Kernel kernel) {
        return NOISES.stream()
                .filter(noise -> noise <= maxNoise)
                .map(noise -> new Kernel(kernel.lengths(), kernel.amplitude(), noise));
    }
}
