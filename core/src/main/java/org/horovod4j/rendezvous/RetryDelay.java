package org.horovod4j.rendezvous;

import java.util.concurrent.locks.LockSupport;

/// A wait between two tries.
final class RetryDelay {
    private RetryDelay() {}

    /// An interrupted thread would not wait at all and try without a break, so the interrupt is put
    /// aside meanwhile.
    static void parkNanos(long nanos) {
        boolean interrupted = Thread.interrupted();
        LockSupport.parkNanos(nanos);
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
