package org.horovod4j.benchmarks.training;

import org.horovod4j.benchmarks.runtime.SyntheticCompute;

import java.util.List;

/// Prints the number of [SyntheticCompute] iterations that one core computes in a number of
/// milliseconds. All jobs of a run use this number, so that their steps are comparable. Arguments:
/// MILLISECONDS.
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
