package org.horovod4j.benchmarks.training;

import java.util.Locale;

/// The part of a step that a result measures.
enum StepMetric {
    /// The whole step: forward pass, backward pass, communication, update.
    STEP,
    /// From the end of the backward pass until all gradients are averaged.
    WAITED;

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
