package org.horovod4j.benchmarks.training;

import org.horovod4j.benchmarks.runtime.SyntheticCompute;

import java.util.List;

/// Prints how many iterations of [SyntheticCompute] one core computes in a number of milliseconds. All jobs
/// of a run get this number, so that their steps can be compared. Arguments: MILLISECONDS.
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
