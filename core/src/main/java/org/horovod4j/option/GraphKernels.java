package org.horovod4j.option;

/// How collectives run in a graph of TensorFlow.
public enum GraphKernels {
    /// As `ASYNC` with versions that are known to work, otherwise as `BLOCKING`, or as `FETCH` if
    /// TensorFlow cannot have our ops.
    AUTO,
    /// A node is one asynchronous kernel, which blocks no thread.
    ASYNC,
    /// A node is two kernels: one submits, the other one blocks a thread until the collective ends.
    BLOCKING,
    /// A node is a placeholder: a run fetches what collectives need, and another one is fed their results.
    FETCH
}
