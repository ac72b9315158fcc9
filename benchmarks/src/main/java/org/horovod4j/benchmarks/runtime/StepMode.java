package org.horovod4j.benchmarks.runtime;

/// What a rank does in one step.
enum StepMode {
    /// One synchronous allreduce of one tensor with the same number of bytes: the raw collective.
    FLAT,
    /// Submits each gradient separately, last layer first, then waits for all.
    ASYNC,
    /// All gradients in one call.
    GROUPED,
    /// Only the computation of a simulated backward pass.
    COMPUTE,
    /// The same as [#ASYNC], in the job that also computes.
    COMMUNICATE,
    /// Submits each gradient as soon as its part of the computation is done.
    OVERLAP,
    /// A TensorFlow graph with an allreduce node for each gradient.
    GRAPH,
    /// A TensorFlow graph with a node that does nothing for each gradient.
    NOOP,
    /// The same as [#ASYNC], by `ProcessGroupGloo` of PyTorch.
    GLOO,
    /// The same as [#FLAT], by `ProcessGroupGloo` of PyTorch.
    GLOOFLAT
}
