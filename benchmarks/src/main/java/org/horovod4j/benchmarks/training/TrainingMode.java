package org.horovod4j.benchmarks.training;

import java.util.Arrays;
import java.util.Locale;

/// What the ranks of a job do in a step.
public enum TrainingMode {
    /// Each trains for itself: as many independent processes as there are ranks, which share nothing
    /// but the machine.
    ALONE,
    /// Each trains for itself, and waits for the others at the end of each step: what it costs that
    /// training goes at the pace of the slowest, before anything is sent.
    PACED,
    /// The gradients are averaged, and none is computed.
    COMMUNICATE,
    /// Each gradient is submitted as soon as the backward pass has made it.
    OVERLAP,
    /// All gradients are submitted when the backward pass is over.
    END,
    /// One of these two, which the optimizer chooses where the program says nothing.
    DEFAULT;

    /// Whether gradients are averaged.
    public boolean communicates() {
        return switch (this) {
            case COMMUNICATE, OVERLAP, END, DEFAULT -> true;
            case ALONE, PACED -> false;
        };
    }

    public static TrainingMode parse(String text) {
        return Arrays.stream(values())
                .filter(trainingMode -> trainingMode.toString().equals(text))
                .findFirst()
                .orElseThrow(
                        () ->
                                new IllegalArgumentException(
                                        "there is no way '%s' to make a step: choose one of %s"
                                                .formatted(text, Arrays.toString(values()))));
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
