package org.horovod4j.transport;

/// Whether it still makes sense to wait.
@FunctionalInterface
public interface Liveness {
    /// Returns while all is well; throws what should end the waiting.
    void check();
}
