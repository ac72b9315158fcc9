package org.horovod4j.runtime.autotune;

import java.util.List;

/// The middle of some values: what a few freaks among them do not move.
final class Median {
    private Median() {}

    /// @param values at least one
    static double of(List<Double> values) {
        List<Double> sorted = values.stream().sorted().toList();
        int middle = sorted.size() / 2;
        return sorted.size() % 2 == 1
                ? sorted.get(middle)
                : (sorted.get(middle - 1) + sorted.get(middle)) / 2;
    }
}
