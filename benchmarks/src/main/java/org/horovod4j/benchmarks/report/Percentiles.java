package org.horovod4j.benchmarks.report;

import java.util.Arrays;

/// What remains of many samples: the median, and the 10th and 90th percentile around it.
///
/// Medians, because one garbage collection or one busy neighbour moves a mean as far as it likes.
public record Percentiles(double median, double p10, double p90) {
    public static Percentiles of(double... samples) {
        if (samples.length == 0) {
            throw new IllegalArgumentException("no samples, so no median");
        }
        double[] sorted = samples.clone();
        Arrays.sort(sorted);
        return new Percentiles(quantile(sorted, 0.5), quantile(sorted, 0.1), quantile(sorted, 0.9));
    }

    /// Between the two nearest samples, in proportion.
    private static double quantile(double[] sorted, double fraction) {
        double at = fraction * (sorted.length - 1);
        int below = (int) at;
        int above = Math.min(below + 1, sorted.length - 1);
        return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
    }
}
