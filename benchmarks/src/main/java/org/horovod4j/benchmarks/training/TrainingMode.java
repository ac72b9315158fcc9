package org.horovod4j.benchmarks.training;

import java.util.Arrays;
import java.util.Locale;

/// What the ranks of a job do in a training step.
public enum TrainingMode {
    /// Each rank trains on its own, without communication.
    INDEPENDENT,
    /// Each rank trains on its own, and a barrier ends each step: the cost of waiting for the slowest
    /// rank, without any data.
    BARRIER,
    /// The gradients are averaged, but not computed.
    ALLREDUCE,
    /// Each gradient is submitted as soon as the backward pass has computed it.
    OVERLAP,
    /// All gradients are submitted after the backward pass.
    SEQUENTIAL,
    /// The optimizer chooses [#OVERLAP] or [#SEQUENTIAL].
    DEFAULT;

    /// Whether gradients are averaged.
    public boolean communicates() {
        return switch (this) {
            case ALLREDUCE, OVERLAP, SEQUENTIAL, DEFAULT -> true;
            case INDEPENDENT, BARRIER -> false;
        };
    }

    public static TrainingMode parse(String text) {
        return Arrays.stream(values())
                .filter(trainingMode -> trainingMode.toString().equals(text))
                .findFirst()
                .orElseThrow(
                        () ->
                                new IllegalArgumentException(
                                        "unknown mode '%s': choose one of %s"
                                                .formatted(text, Arrays.toString(values()))));
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
