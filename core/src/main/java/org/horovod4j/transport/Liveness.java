package org.horovod4j.transport;

/// Checks whether waiting still makes sense.
@FunctionalInterface
public interface Liveness {
    /// Returns normally if the wait should continue; otherwise throws the exception that ends it.
    void check();
}
