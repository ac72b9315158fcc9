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
final class CovarianceKernelFit {
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

    CovarianceKernelFit(List<double[]> positions, double[] values, double maxNoise) {
        this.positions = positions;
        this.values = values;
        this.maxNoise = maxNoise;
    }

    CovarianceKernel best() {
        int dimensions = positions.getFirst().length;
        CovarianceKernel best =
                new CovarianceKernel(
                        Collections.nCopies(dimensions, USUAL_LENGTH), 1, Math.min(maxNoise, 0.2));
        for (int round = 0; round < MAX_ROUNDS; round++) {
            CovarianceKernel before = best;
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

    private CovarianceKernel better(
            CovarianceKernel covarianceKernel, Stream<CovarianceKernel> others) {
        CovarianceKernel best = covarianceKernel;
        double highest = logPosterior(covarianceKernel);
        for (CovarianceKernel other : (Iterable<CovarianceKernel>) others::iterator) {
            double plausibility = logPosterior(other);
            if (plausibility > highest) {
                best = other;
                highest = plausibility;
            }
        }
        return best;
    }

    private double logPosterior(CovarianceKernel covarianceKernel) {
        double penalty = 0;
        for (double length : covarianceKernel.lengths()) {
            double away = Math.log(length / USUAL_LENGTH) / LENGTH_SPREAD;
            penalty += away * away / 2;
        }
        return new GaussianProcess(positions, values, covarianceKernel).logMarginalLikelihood()
                - penalty;
    }

    private static Stream<CovarianceKernel> withLengths(
            CovarianceKernel covarianceKernel, int dimension) {
        return LENGTHS.stream()
                .map(
                        length -> {
                            List<Double> lengths = new ArrayList<>(covarianceKernel.lengths());
                            lengths.set(dimension, length);
                            return new CovarianceKernel(
                                    lengths,
                                    covarianceKernel.amplitude(),
                                    covarianceKernel.noise());
                        });
    }

    private static Stream<CovarianceKernel> withAmplitudes(CovarianceKernel covarianceKernel) {
        return AMPLITUDES.stream()
                .map(
                        amplitude ->
                                new CovarianceKernel(
                                        covarianceKernel.lengths(),
                                        amplitude,
                                        covarianceKernel.noise()));
    }

    private Stream<CovarianceKernel> withNoises(CovarianceKernel covarianceKernel) {
        return NOISES.stream()
                .filter(noise -> noise <= maxNoise)
                .map(
                        noise ->
                                new CovarianceKernel(
                                        covarianceKernel.lengths(),
                                        covarianceKernel.amplitude(),
                                        noise));
    }
}
