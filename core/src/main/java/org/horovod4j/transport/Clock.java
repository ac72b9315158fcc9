package org.horovod4j.transport;

import java.util.concurrent.locks.LockSupport;

/// The time source of code that waits. Tests pass their own.
public interface Clock {
    Clock SYSTEM =
            new Clock() {
                @Override
                public long nanoTime() {
                    return System.nanoTime();
                }

                @Override
                public void sleep(long nanos) {
                    LockSupport.parkNanos(nanos);
                }
            };

    long nanoTime();

    /// Sleeps for about `nanos`, possibly less.
    void sleep(long nanos);
}
