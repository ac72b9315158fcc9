package org.horovod4j.benchmarks.runtime;

import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;

/// Prints the bytes of each tensor of a [Workload], separated by commas, in forward order. Programs in
/// other languages get them from here. Argument: WORKLOAD.
public final class TensorSizes {
    private TensorSizes() {}

    public static void main(String[] arguments) {
        if (arguments.length != 1) {
            throw new IllegalArgumentException(
                    "the argument is WORKLOAD, found " + List.of(arguments));
        }
        System.out.println(of(Workload.valueOf(arguments[0].toUpperCase(Locale.ROOT))));
    }

    static String of(Workload workload) {
        return workload.parameters().stream()
                .map(parameter -> parameter.shape().elementCount() * Float.BYTES)
                .map(String::valueOf)
                .collect(Collectors.joining(","));
    }
}
