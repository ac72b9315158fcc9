package org.horovod4j.option;

/// How collectives run in a graph of TensorFlow.
public enum GraphKernels {
    /// As `ASYNC` with builds that are known to work, and with other builds of their versions if a self-test
    /// passes. Otherwise as `BLOCKING`, or as `FETCH` if our ops cannot be registered.
    AUTO,
    /// A node is one asynchronous kernel, which blocks no thread.
    ASYNC,
    /// A node is two kernels: one submits, the other one blocks a thread until the collective ends.
    BLOCKING,
    /// A node is a placeholder: a run fetches what collectives need, and another one is fed their results.
    FETCH
}
