package org.horovod4j.transport;

import org.jspecify.annotations.Nullable;

import java.util.function.Consumer;

/// How to wait for another rank: spin, then yield or sleep.
///
/// Spinning reacts within a microsecond, but occupies a core that the awaited rank or a compiler
/// thread may need. So the time to spin adapts: a wait that ends within a millisecond prolongs it, a
/// wait that takes longer halves it. On an oversubscribed host (more ranks than cores), on a virtual
/// thread, whose carrier other ranks may need, and if all messages travel over connections, which the
/// system needs a core to deliver, a wait yields instead. In the background, beside a program that computes,
/// it soon sleeps.
///
/// A rank of the same host ends a sleep as soon as it has something for this rank, if the system
/// supports that: see [SharedParker]. Bytes that arrive over a connection end it too: see [LinkParker].
/// What else may end the wait, such as a lost rank, is checked after each sleep. A sleep lasts an
/// eighth of the time waited so far, at most 1 ms, and 1 ms if a connection can end it. So a rank that
/// waits for a minute uses about 1 % of a core. The limit is 20 ms on an oversubscribed host, because
/// dozens of waiting ranks share a few cores with the rank that works.
///
/// One thread at a time waits with an instance. [#reset] starts a new wait.
public final class IdleStrategy implements AutoCloseable {
    /// About the time that it takes to wake a rank. With less, ranks that have slept once would wake
    /// out of step, sleep again, and every operation would cost a sleep.
    private static final long MIN_SPIN_NANOS = 50_000;

    /// Longer than most interruptions of a rank that is about to answer.
    private static final long MAX_SPIN_NANOS = 1_000_000;

    private static final int SPIN_GROWTH_DIVISOR = 8;

    /// About a microsecond: reading the clock after each spin would slow spinning down.
    private static final int SPINS_PER_CLOCK = 32;

    private static final long YIELD_NANOS = 300_000;

    /// The same if links can end the sleep. About the time that it takes to wake a rank: longer, the
    /// rank would keep a core from the one that it waits for.
    private static final long LINK_YIELD_NANOS = 50_000;

    private static final long BACKGROUND_YIELD_NANOS = 20_000;
    private static final long MIN_SLEEP_NANOS = 30_000;
    private static final long MAX_SLEEP_NANOS = 1_000_000;
    private static final long MAX_OVERSUBSCRIBED_SLEEP_NANOS = 20_000_000;

    private final Liveness liveness;
    private final Clock clock;
    private final boolean oversubscribed;
    private boolean onlyLinks;
    private @Nullable SharedParker parker;
    private final LinkParker linkParker = new LinkParker();
    private @Nullable ProcessorSpread spread;
    private volatile boolean background;
    private long spinNanos = MIN_SPIN_NANOS;
    private boolean waitSpins;
    private int spinsLeft;
    private long waitStartNanos;
    private boolean virtual;
    private Phase phase;

    /// How many waits ended in each phase.
    private final long[] ended = new long[Phase.values().length];

    /// How far the current wait has come.
    private enum Phase {
        /// Before the first look at the clock.
        FIRST_SPINS,
        SPINNING,
        YIELDING,
        SLEEPING
    }

    public IdleStrategy(Liveness liveness, Clock clock, boolean oversubscribed) {
        this.liveness = liveness;
        this.clock = clock;
        this.oversubscribed = oversubscribed;
        prepareWait();
    }

    /// Lets other ranks of the host end the sleeps of this thread, and this thread leave a processor
    /// that it shares with one of them.
    void setLocalGroup(SharedParker sharedParker, ProcessorSpread processorSpread) {
        parker = sharedParker;
        spread = processorSpread;
    }

    /// Lets links end the sleeps of this thread.
    ///
    /// @param awaited says which ones, each time before this thread sleeps
    public void addLinkUser(Consumer<LinkParker> awaited) {
        linkParker.add(awaited);
    }

    /// From now on waits are for messages over links alone: they yield, then sleep until a link is ready.
    /// Not for a rank that shares memory with others, because they could not end such a sleep.
    public void waitForLinks() {
        onlyLinks = true;
        reset();
        prepareWait();
    }

    /// Frees the sockets of links that were closed.
    void releaseClosedLinks() {
        linkParker.releaseClosedLinks();
    }

    /// Frees what waits have needed. Later waits are not ended by links.
    @Override
    public void close() {
        linkParker.close();
    }

    Clock clock() {
        return clock;
    }

    /// Whether the following waits are in the background, beside a program that computes.
    public void setBackground(boolean background) {
        reset();
        if (this.background != background) { // a read costs less than a write
            this.background = background;
        }
        prepareWait();
    }

    /// The following waits are not in the background, because the program waits too. Called by
    /// another thread.
    public void endBackground() {
        background = false;
    }

    /// Whether waits are in the background, beside a program that computes.
    public boolean isBackground() {
        return background;
    }

    private boolean spins() {
        return !oversubscribed && !onlyLinks && !background;
    }

    private void prepareWait() {
        phase = Phase.FIRST_SPINS;
        waitSpins = spins();
        spinsLeft = waitSpins ? SPINS_PER_CLOCK : 0;
    }

    /// Starts a new wait. Callers also call it after progress.
    public void reset() {
        if (phase != Phase.FIRST_SPINS || (waitSpins && spinsLeft < SPINS_PER_CLOCK)) {
            end();
        }
    }

    private void end() {
        ended[phase.ordinal()]++;
        if (phase == Phase.SLEEPING && parker != null) {
            parker.cancel();
        }
        if (waitSpins && !virtual) {
            spinNanos = nextSpinNanos();
        }
        prepareWait();
    }

    /// After a short sleep, the next wait spins for longer than this one took. Otherwise ranks that were
    /// woken one after the other would sleep again in each operation.
    private long nextSpinNanos() {
        if (phase.compareTo(Phase.YIELDING) < 0) {
            return Math.min(spinNanos + spinNanos / SPIN_GROWTH_DIVISOR, MAX_SPIN_NANOS);
        }
        long waited = clock.nanoTime() - waitStartNanos;
        return waited < MAX_SPIN_NANOS
                ? Math.clamp(2 * waited, MIN_SPIN_NANOS, MAX_SPIN_NANOS)
                : Math.max(spinNanos / 2, MIN_SPIN_NANOS);
    }

    /// Waits a short time, or throws what [Liveness#check] throws.
    public void idle() {
        if (spinsLeft == 0) {
            liveness.check();
        }
        idleUnchecked();
    }

    /// Like [#idle] without the check, for callers that check more themselves.
    public void idleUnchecked() {
        if (spinsLeft > 0) {
            spinsLeft--;
            Thread.onSpinWait();
            return;
        }
        long now = clock.nanoTime();
        if (phase == Phase.FIRST_SPINS) {
            phase = Phase.SPINNING;
            waitStartNanos = now;
            virtual = Thread.currentThread().isVirtual();
        }
        long waited = now - waitStartNanos;
        if (phase == Phase.SPINNING && waitSpins && !virtual && waited < spinNanos) {
            spinsLeft = SPINS_PER_CLOCK;
        } else if (phase != Phase.SLEEPING && yieldsAfter(waited)) {
            phase = Phase.YIELDING;
            Thread.yield();
        } else {
            sleep(Math.clamp(waited / 8, MIN_SLEEP_NANOS, maxSleepNanos()));
        }
    }

    private boolean yieldsAfter(long waited) {
        if (!background && !waitSpins && waited < LINK_YIELD_NANOS) {
            return true; // querying the links takes as long as a yield
        }
        return waited < yieldUntilNanos();
    }

    /// How long a wait spins and yields. If others can wake this thread, it sleeps directly after it
    /// has spun: the scheduler then moves it to an idle core, which it does not do with a thread
    /// that yields.
    private long yieldUntilNanos() {
        if (background) {
            return BACKGROUND_YIELD_NANOS;
        }
        if (!waitSpins || virtual) {
            return canParkForLinks() ? LINK_YIELD_NANOS : YIELD_NANOS;
        }
        return canPark() || canParkForLinks() ? spinNanos : spinNanos + YIELD_NANOS;
    }

    private boolean canPark() {
        return parker != null && !virtual && parker.canPark();
    }

    private boolean canParkForLinks() {
        return onlyLinks && !virtual && linkParker.canPark();
    }

    private long maxSleepNanos() {
        return oversubscribed ? MAX_OVERSUBSCRIBED_SLEEP_NANOS : MAX_SLEEP_NANOS;
    }

    private void sleep(long nanos) {
        SharedParker sharedParker = parker;
        if (sharedParker == null || !canPark()) {
            phase = Phase.SLEEPING;
            sleepWithoutInterrupt(nanos);
        } else if (phase == Phase.SLEEPING) {
            sharedParker.park(nanos);
        } else {
            phase = Phase.SLEEPING;
            if (spread != null && waitSpins) {
                spread.leaveSharedProcessor();
            }
            sharedParker.prepare(); // the caller looks once more before this thread parks
        }
    }

    /// Clears the interrupt status first, because an interrupted thread would not sleep at all, and
    /// restores it afterwards.
    private void sleepWithoutInterrupt(long nanos) {
        boolean interrupted = Thread.interrupted();
        if (canParkForLinks()) {
            boolean _ = linkParker.park(nanos);
        } else {
            clock.sleep(nanos);
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /// How the waits so far have ended. Another thread may see values that are slightly old.
    public Waits waits() {
        return new Waits(
                ended[Phase.FIRST_SPINS.ordinal()] + ended[Phase.SPINNING.ordinal()],
                ended[Phase.YIELDING.ordinal()],
                ended[Phase.SLEEPING.ordinal()]);
    }

    /// How many waits ended in which way.
    public record Waits(long spinning, long yielding, long sleeping) {
        @Override
        public String toString() {
            return "%d %s ended while spinning, %d while yielding, %d while sleeping"
                    .formatted(spinning, spinning == 1 ? "wait" : "waits", yielding, sleeping);
        }
    }
}
