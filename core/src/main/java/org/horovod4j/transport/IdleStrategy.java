package org.horovod4j.transport;

/// How to wait for another rank: spin, then yield, then sleep.
///
/// Spinning reacts within a microsecond, but occupies a core that the awaited rank may need. So on
/// an oversubscribed host (more ranks than cores) a wait starts with yielding. Each sleep lasts an
/// eighth of the time waited so far, at most 1 ms. So it prolongs the wait only a little, and a
/// rank that waits for a minute uses about 1 % of a core. The limit is 20 ms on an oversubscribed
/// host, because dozens of waiting ranks share a few cores with the rank that works.
///
/// One thread uses an instance. [#reset] starts a new wait.
public final class IdleStrategy {
    /// About five microseconds. If the awaited rank is scheduled on this core, it cannot run until
    /// the spinning ends.
    private static final int SPINS = 100;

    private static final long YIELD_NANOS = 300_000;
    private static final long MAX_SLEEP_NANOS = 1_000_000;
    private static final long MAX_OVERSUBSCRIBED_SLEEP_NANOS = 20_000_000;

    private final Liveness liveness;
    private final Clock clock;
    private final int spins;
    private final long maxSleepNanos;
    private int spinCount;
    private long waitStartNanos;

    public IdleStrategy(Liveness liveness, Clock clock, boolean oversubscribed) {
        this.liveness = liveness;
        this.clock = clock;
        this.spins = oversubscribed ? 0 : SPINS;
        this.maxSleepNanos = oversubscribed ? MAX_OVERSUBSCRIBED_SLEEP_NANOS : MAX_SLEEP_NANOS;
    }

    /// Starts a new wait. Callers also call it after progress.
    public void reset() {
        spinCount = 0;
    }

    /// Waits a short time, or throws what [Liveness#check] throws.
    public void idle() {
        if (spinCount < spins) {
            spinCount++;
            Thread.onSpinWait();
            return;
        }
        liveness.check();
        if (spinCount == spins) {
            spinCount++;
            waitStartNanos = clock.nanoTime();
        }
        long waited = clock.nanoTime() - waitStartNanos;
        if (waited < YIELD_NANOS) {
            Thread.yield();
        } else {
            sleep(Math.min(waited / 8, maxSleepNanos));
        }
    }

    /// Sleeps. Clears the interrupt status first, because an interrupted thread would not sleep at
    /// all, and restores it afterwards.
    private void sleep(long nanos) {
        boolean interrupted = Thread.interrupted();
        clock.sleep(nanos);
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
