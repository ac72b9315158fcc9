package org.horovod4j.runtime.autotune;

import java.util.List;
import java.util.stream.DoubleStream;

/// What measured scores say of the score at any position.
///
/// Works on the logarithms of the scores, since what changes speed and what disturbs a measurement
/// both act by factors, and on these in standard deviations from their mean, since a Gaussian
/// process expects values around 0.
final class ScoreModel {
    /// What is slower than the best by more than this factor counts as slower by this factor. How
    /// bad a bad tuning is does not matter, and would drown the differences between good ones.
    private static final double MAX_SLOWDOWN = 1.5;

    private final double mean;
    private final double deviation;
    private final GaussianProcess process;

    /// @param maxNoise how much of the standard deviation may be taken for noise at most
    ScoreModel(List<double[]> positions, List<Double> scores, double maxNoise) {
        double[] logs = logs(scores);
        this.mean = DoubleStream.of(logs).average().orElseThrow();
        double variance =
                DoubleStream.of(logs)
                        .map(log -> (log - mean) * (log - mean))
                        .average()
                        .orElseThrow();
        this.deviation = variance > 0 ? Math.sqrt(variance) : 1;
        double[] values = DoubleStream.of(logs).map(log -> (log - mean) / deviation).toArray();
        CovarianceKernel covarianceKernel =
                new CovarianceKernelFit(positions, values, maxNoise).best();
        this.process = new GaussianProcess(positions, values, covarianceKernel);
    }

    private static double[] logs(List<Double> scores) {
        double best = scores.stream().mapToDouble(score -> score).max().orElseThrow();
        return scores.stream()
                .mapToDouble(score -> Math.log(Math.max(score, best / MAX_SLOWDOWN)))
                .toArray();
    }

    /// In standard deviations of the logarithms of the scores.
    Prediction predict(double[] position) {
        return process.predict(position);
    }

    /// In the unit of the scores.
    double score(double[] position) {
        return Math.exp(mean + deviation * predict(position).mean());
    }
}
