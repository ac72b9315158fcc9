package org.horovod4j.benchmarks.report;

import java.util.Arrays;

/// The median, 10th percentile and 90th percentile of many samples.
///
/// The median is used because a single garbage collection or another busy process can change a mean
/// by any amount.
public record Percentiles(double median, double p10, double p90) {
    public static Percentiles of(double... samples) {
        if (samples.length == 0) {
            throw new IllegalArgumentException("no samples, so no median");
        }
        double[] sorted = samples.clone();
        Arrays.sort(sorted);
        return new Percentiles(quantile(sorted, 0.5), quantile(sorted, 0.1), quantile(sorted, 0.9));
    }

    /// Interpolates linearly between the two nearest samples.
    private static double quantile(double[] sorted, double fraction) {
        double at = fraction * (sorted.length - 1);
        int below = (int) at;
        int above = Math.min(below + 1, sorted.length - 1);
        return sorted[below] + (at - below) * (sorted[above] - sorted[below]);
    }
}
