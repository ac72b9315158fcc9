package org.horovod4j.tensorflow.kernel;

/// What a node does. Equal functions of a graph share a number, so implement `equals`, for example
/// as a record.
@FunctionalInterface
public interface NodeFunction {
    /// Starts a run and returns soon, without waiting for other ranks. A function may be started
    /// again before the first run has ended.
    ///
    /// @param name of the node: the same on all ranks that have built the same graph
    /// @throws RuntimeException if the run cannot start; fails the run
    void start(String name, Execution execution);
}
