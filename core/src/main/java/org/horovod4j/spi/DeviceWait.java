package org.horovod4j.spi;

import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/// Waits on the CPU for work on a device. A driver's own wait could not be ended by the loss of a rank.
public final class DeviceWait {
    /// About the time of a small collective. Each spin asks the driver, which takes a microsecond.
    private static final long SPIN_NANOS = 100_000;

    private static final long MAX_SLEEP_NANOS = 500_000;

    /// A sleep prolongs the wait by at most this part.
    private static final int SLEEP_DIVISOR = 16;

    private DeviceWait() {}

    /// Waits for `event` and releases it.
    ///
    /// @param check ends the wait by an exception
    public static void await(DeviceEvent event, Runnable check) {
        try {
            boolean _ =
                    await(
                            () -> {
                                check.run();
                                return event.isComplete();
                            },
                            Long.MAX_VALUE);
        } finally {
            event.release();
        }
    }

    /// Waits until `done`, for at most this time. An interrupt does not end the wait; the interrupt
    /// status is restored afterwards.
    ///
    /// @return whether it is done
    public static boolean await(BooleanSupplier done, long nanos) {
        long start = System.nanoTime();
        boolean interrupted = false;
        try {
            while (!done.getAsBoolean()) {
                long waited = System.nanoTime() - start;
                if (waited >= nanos) {
                    return false;
                }
                if (waited < SPIN_NANOS) {
                    Thread.onSpinWait();
                } else {
                    LockSupport.parkNanos(Math.min(MAX_SLEEP_NANOS, waited / SLEEP_DIVISOR));
                    interrupted |= Thread.interrupted(); // an interrupted thread does not park
                }
            }
            return true;
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
