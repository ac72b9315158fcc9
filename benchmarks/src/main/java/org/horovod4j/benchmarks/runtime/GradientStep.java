package org.horovod4j.benchmarks.runtime;

/// The step of a variant, and the check of its results.
interface GradientStep {
    /// Makes one step.
    void run();

    /// Checks every sum: the time of a wrong result is meaningless.
    void verify();
}
