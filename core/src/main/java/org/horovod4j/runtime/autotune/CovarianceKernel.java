package org.horovod4j.runtime.autotune;

import java.util.List;

/// How alike the scores at two positions are expected to be: the radial basis function, with a
/// length of its own for each coordinate.
///
/// `covariance(a, b) = amplitude² exp(-½ Σ ((aᵢ - bᵢ) / lengthᵢ)²)`; what is measured has `noise²`
/// on top.
///
/// @param lengths how far one must go along a coordinate to see another score; a long one says that
///     this knob does not matter
/// @param amplitude how far scores are from their mean
/// @param noise how far two measurements of one score are apart
record CovarianceKernel(List<Double> lengths, double amplitude, double noise) {
    CovarianceKernel {
        lengths = List.copyOf(lengths);
    }

    double covariance(double[] a, double[] b) {
        double distance = 0;
        for (int i = 0; i < a.length; i++) {
            double steps = (a[i] - b[i]) / lengths.get(i);
            distance += steps * steps;
        }
        return amplitude * amplitude * Math.exp(-distance / 2);
    }
}
