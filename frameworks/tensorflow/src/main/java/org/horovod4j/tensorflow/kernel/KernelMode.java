package org.horovod4j.tensorflow.kernel;

/// How collectives run in this process.
public enum KernelMode {
    /// A node is one asynchronous kernel, which ends when its collective does.
    ASYNC("asynchronous kernels"),
    /// A node is two: one submits the collective, the other one blocks a thread until it ends.
    BLOCKING("blocking kernels"),
    /// A node is a placeholder: a run fetches the inputs, and another one is fed the results.
    FETCH("fetch and feed");

    private final String text;

    KernelMode(String text) {
        this.text = text;
    }

    /// The mode in messages.
    @Override
    public String toString() {
        return text;
    }
}
