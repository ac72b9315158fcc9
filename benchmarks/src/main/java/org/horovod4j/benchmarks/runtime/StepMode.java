package org.horovod4j.benchmarks.runtime;

/// What a rank does in one step.
enum StepMode {
    /// One synchronous allreduce of one tensor of the same bytes: the raw collective.
    FLAT,
    /// Every gradient on its own, last layer first, then all are awaited.
    ASYNC,
    /// All gradients in one call.
    GROUPED,
    /// The arithmetic of a pretended backward pass, and nothing else.
    COMPUTE,
    /// [#ASYNC] once more, in the job that also computes.
    COMMUNICATE,
    /// Each gradient is submitted as soon as its share of the arithmetic is done.
    OVERLAP
}
