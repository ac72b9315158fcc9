package org.horovod4j.rendezvous;

import java.util.concurrent.locks.LockSupport;

/// The wait between two attempts.
final class RetryDelay {
    private RetryDelay() {}

    /// Waits even when the thread is interrupted, and keeps the interrupt. Otherwise the caller
    /// would retry without a pause.
    static void parkNanos(long nanos) {
        boolean interrupted = Thread.interrupted();
        LockSupport.parkNanos(nanos);
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
