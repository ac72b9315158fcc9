package org.horovod4j.runtime.autotune;

import java.util.Arrays;

/// The score of one tuning: the median over some training steps of bytes per microsecond, so that a step
/// which was disturbed does not count.
final class Sample {
    private static final double NANOS_PER_MICRO = 1e3;

    private final double[] rates;
    private int toSkip;
    private int count;

    /// @param toSkip first steps that do not count
    Sample(int steps, int toSkip) {
        this.rates = new double[steps];
        this.toSkip = toSkip;
    }

    /// Adds a step, unless it moved nothing.
    ///
    /// @return whether the sample is complete
    boolean add(long bytes, long nanos) {
        if (bytes > 0 && nanos > 0 && --toSkip < 0) {
            rates[count++] = bytes * NANOS_PER_MICRO / nanos;
        }
        return count == rates.length;
    }

    double score() {
        double[] sorted = rates.clone();
        Arrays.sort(sorted);
        int middle = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }
}
