package org.horovod4j.transport;

/// How to wait for another rank: spin a little, then yield, then sleep.
///
/// Spinning answers within a microsecond, but steals the core that the awaited rank may need, so a
/// crowded host (more ranks than cores) begins by yielding. A sleep lasts an eighth of what was
/// waited so far, at most a millisecond: the wait is stretched little, and a rank that waits for a
/// minute costs a percent of a core. On a crowded host it is 20 ms at most, or 64 ranks that wait
/// for one would leave it little of two cores.
///
/// One thread uses an instance; [#reset] begins a new wait.
public final class IdleStrategy {
    /// Some five microseconds. The awaited rank may have been put on this very core, and then gets
    /// nothing done until the spinning ends.
    private static final int SPINS = 100;

    private static final long YIELD_NANOS = 300_000;
    private static final long MAX_SLEEP_NANOS = 1_000_000;
    private static final long MAX_CROWDED_SLEEP_NANOS = 20_000_000;

    private final Liveness liveness;
    private final Clock clock;
    private final int spins;
    private final long maxSleepNanos;
    private int spinCount;
    private long waitStartNanos;

    public IdleStrategy(Liveness liveness, Clock clock, boolean crowded) {
        this.liveness = liveness;
        this.clock = clock;
        this.spins = crowded ? 0 : SPINS;
        this.maxSleepNanos = crowded ? MAX_CROWDED_SLEEP_NANOS : MAX_SLEEP_NANOS;
    }

    /// Begins a new wait: something moved.
    public void reset() {
        spinCount = 0;
    }

    /// Lets some time pass, or throws what ends the waiting.
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

    /// An interrupted thread would not sleep at all, so the interrupt is put aside meanwhile.
    private void sleep(long nanos) {
        boolean interrupted = Thread.interrupted();
        clock.sleep(nanos);
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
