package org.horovod4j.tensorflow.kernel;

/// How collectives run in this process.
public enum NodeVariant {
    /// A node is one asynchronous kernel, which ends when its collective does.
    ASYNC,
    /// A node is two: one submits the collective, the other one blocks a thread until it ends.
    BLOCKING
}
