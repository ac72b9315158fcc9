package org.horovod4j.benchmarks.training;

import java.util.List;

/// Prints how many rounds of [SyntheticCompute] one core computes in a number of milliseconds, for all jobs of
/// a run: they can be compared only if each has the same work. Arguments: MILLISECONDS.
public final class ComputeCalibration {
    private ComputeCalibration() {}

    public static void main(String[] arguments) {
        if (arguments.length != 1) {
            throw new IllegalArgumentException(
                    "arguments are MILLISECONDS, found " + List.of(arguments));
        }
        double seconds = Double.parseDouble(arguments[0]) * 1e-3;
        System.out.println(Math.round(SyntheticCompute.iterationsPerSecond() * seconds));
    }
}
