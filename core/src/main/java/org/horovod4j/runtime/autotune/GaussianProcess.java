package org.horovod4j.runtime.autotune;

import java.util.List;

/// What a few noisy measurements say of a function: at each position a mean, and how sure it is.
///
/// The formulas are those of Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006,
/// algorithm 2.1, for a function whose values are around 0.
final class GaussianProcess {
    /// Added to the diagonal, or twice the same position without noise would be no matrix to
    /// invert.
    private static final double JITTER = 1e-9;

    private final List<double[]> positions;
    private final double[] values;
    private final CovarianceKernel covarianceKernel;
    private final Cholesky covariance;
    private final double[] weights;

    GaussianProcess(List<double[]> positions, double[] values, CovarianceKernel covarianceKernel) {
        this.positions = positions;
        this.values = values;
        this.covarianceKernel = covarianceKernel;
        this.covariance = new Cholesky(covariances());
        this.weights = covariance.solve(values);
    }

    private double[][] covariances() {
        int n = values.length;
        double[][] matrix = new double[n][n];
        for (int row = 0; row < n; row++) {
            for (int column = 0; column < n; column++) {
                matrix[row][column] =
                        covarianceKernel.covariance(positions.get(row), positions.get(column));
            }
            matrix[row][row] += covarianceKernel.noise() * covarianceKernel.noise() + JITTER;
        }
        return matrix;
    }

    /// The function at a position, without the noise of measuring it.
    Prediction predict(double[] position) {
        double[] likeness =
                positions.stream()
                        .mapToDouble(p -> covarianceKernel.covariance(p, position))
                        .toArray();
        double[] known = covariance.solveLower(likeness);
        double variance = covarianceKernel.covariance(position, position) - dot(known, known);
        return new Prediction(dot(likeness, weights), Math.sqrt(Math.max(0, variance)));
    }

    /// How well the kernel explains the values: the larger the better.
    double logMarginalLikelihood() {
        return -dot(values, weights) / 2
                - covariance.logDeterminant() / 2
                - values.length * Math.log(2 * Math.PI) / 2;
    }

    private static double dot(double[] a, double[] b) {
        double sum = 0;
        for (int i = 0; i < a.length; i++) {
            sum += a[i] * b[i];
        }
        return sum;
    }
}
