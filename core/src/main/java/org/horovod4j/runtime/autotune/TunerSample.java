package org.horovod4j.runtime.autotune;

import java.util.ArrayList;
import java.util.List;

/// A sample: the speed of some training steps with one tuning.
final class TunerSample {
    private static final double NANOS_PER_MICRO = 1e3;

    private final int steps;
    private final List<Double> rates = new ArrayList<>();
    private double bytesMoved;
    private double nanosTaken;
    private int toSkip;

    /// @param toSkip the number of first steps that do not count
    TunerSample(int steps, int toSkip) {
        this.steps = steps;
        this.toSkip = toSkip;
    }

    /// Adds a step, unless it has no bytes.
    ///
    /// @return whether the sample is complete
    boolean add(long bytes, long nanos) {
        if (bytes > 0 && nanos > 0 && --toSkip < 0) {
            rates.add(bytes * NANOS_PER_MICRO / nanos);
            bytesMoved += bytes;
            nanosTaken += nanos;
        }
        return rates.size() == steps;
    }

    /// The median of bytes per microsecond, so that a disturbed step does not count.
    double score() {
        return median(rates);
    }

    /// The middle value, or the mean of the two middle ones.
    static double median(List<Double> values) {
        double[] sorted = values.stream().mapToDouble(value -> value).sorted().toArray();
        int middle = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }

    /// The mean nanoseconds per byte, disturbed steps included.
    double nanosPerByte() {
        return nanosTaken / bytesMoved;
    }
}
