package org.horovod4j.transport;

import java.util.concurrent.locks.LockSupport;

/// Time as waiting code sees it, so that a simulated world can bring its own.
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

    /// Sleeps about that long, perhaps less.
    void sleep(long nanos);
}
