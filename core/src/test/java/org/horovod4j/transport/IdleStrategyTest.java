package org.horovod4j.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.util.concurrent.atomic.AtomicInteger;

class IdleStrategyTest {
    private static final int SPINS_PER_CLOCK = 32;
    private static final long MIN_SPIN_NANOS = 50_000;
    private static final long MAX_SPIN_NANOS = 1_000_000;
    private static final long YIELD_NANOS = 300_000;
    private static final long LINK_YIELD_NANOS = 50_000;
    private static final long BACKGROUND_YIELD_NANOS = 20_000;

    private final ManualClock clock = new ManualClock();
    private final AtomicInteger checks = new AtomicInteger();

    private IdleStrategy idleStrategy(boolean oversubscribed) {
        return new IdleStrategy(checks::incrementAndGet, clock, oversubscribed);
    }

    /// A wait of this length.
    private void await(IdleStrategy idleStrategy, long nanos) {
        begin(idleStrategy);
        clock.advance(nanos);
        spin(idleStrategy);
        idleStrategy.idle();
        idleStrategy.reset();
    }

    /// Spins until the clock was read once.
    private void begin(IdleStrategy idleStrategy) {
        spin(idleStrategy);
        idleStrategy.idle();
    }

    private void spin(IdleStrategy idleStrategy) {
        for (int i = 0; i < SPINS_PER_CLOCK; i++) {
            idleStrategy.idle();
        }
    }

    @Test
    void spinsFirstWithoutLivenessCheck() {
        IdleStrategy idleStrategy = idleStrategy(false);
        spin(idleStrategy);
        assertThat(checks).hasValue(0);
        idleStrategy.idle();
        assertThat(checks).hasValue(1);
    }

    @Test
    void yieldsImmediatelyOnOversubscribedHost() {
        IdleStrategy idleStrategy = idleStrategy(true);
        idleStrategy.idle();
        idleStrategy.reset();
        assertThat(checks).hasValue(1);
        assertThat(idleStrategy.waits().toString()).contains(" 1 while yielding");
    }

    @Test
    void sleepsAnEighthOfTheWaitSoFarAndAtMostAMillisecond() {
        IdleStrategy idleStrategy = idleStrategy(false);
        begin(idleStrategy);
        spin(idleStrategy);
        clock.advance(MIN_SPIN_NANOS + YIELD_NANOS - 1);
        idleStrategy.idle();
        assertThat(clock.sleeps()).isEmpty();
        clock.advance(1);
        idleStrategy.idle();
        assertThat(clock.sleeps()).containsExactly((MIN_SPIN_NANOS + YIELD_NANOS) / 8);
        clock.advance(1_000_000_000);
        idleStrategy.idle();
        assertThat(clock.sleeps()).hasSize(2).last().isEqualTo(1_000_000L);
    }

    @Test
    void sleepsLongerOnOversubscribedHost() {
        IdleStrategy idleStrategy = idleStrategy(true);
        idleStrategy.idle();
        clock.advance(1_000_000_000);
        idleStrategy.idle();
        assertThat(clock.sleeps()).containsExactly(20_000_000L);
    }

    @Test
    void resetStartsANewWait() {
        IdleStrategy idleStrategy = idleStrategy(true);
        idleStrategy.idle();
        clock.advance(1_000_000_000);
        idleStrategy.idle();
        assertThat(clock.sleeps()).hasSize(1);
        idleStrategy.reset();
        idleStrategy.idle();
        assertThat(clock.sleeps()).hasSize(1);
        assertThat(idleStrategy.waits().toString()).contains(" 1 while sleeping");
    }

    @Test
    void shortWaitsProlongSpinningAndLongOnesShortenIt() {
        IdleStrategy idleStrategy = idleStrategy(false);
        await(idleStrategy, MIN_SPIN_NANOS);
        assertThat(idleStrategy.waits().toString())
                .startsWith("0 waits ended while spinning, 1 while");
        for (int i = 0; i < 100; i++) {
            idleStrategy.idle();
            idleStrategy.reset();
        }
        await(idleStrategy, MAX_SPIN_NANOS - 1);
        assertThat(idleStrategy.waits().toString())
                .startsWith("101 waits ended while spinning, 1 while");
        await(idleStrategy, MAX_SPIN_NANOS);
        await(idleStrategy, MAX_SPIN_NANOS / 2);
        await(idleStrategy, MAX_SPIN_NANOS / 4 - 1);
        assertThat(idleStrategy.waits().toString())
                .startsWith("102 waits ended while spinning, 3 while");
    }

    /// Ranks that a late rank wakes one after the other must not sleep again in the next operation.
    @Test
    void shortSleepsMakeTheNextWaitSpinLonger() {
        IdleStrategy idleStrategy = idleStrategy(false);
        long wait = MAX_SPIN_NANOS / 2;
        await(idleStrategy, wait);
        await(idleStrategy, wait);
        assertThat(idleStrategy.waits().toString())
                .startsWith("1 wait ended while spinning, 0 while yielding, 1 while sleeping");
    }

    @Test
    void waitsOfVirtualThreadsDoNotChangeHowLongOthersSpin() throws InterruptedException {
        IdleStrategy idleStrategy = idleStrategy(false);
        Thread.ofVirtual().start(() -> await(idleStrategy, 2)).join();
        await(idleStrategy, MIN_SPIN_NANOS - 1);
        assertThat(idleStrategy.waits().toString())
                .startsWith("1 wait ended while spinning, 1 while yielding");
    }

    @Test
    void sleepsSoonInTheBackground() {
        IdleStrategy idleStrategy = idleStrategy(false);
        idleStrategy.setBackground(true);
        idleStrategy.idle();
        clock.advance(BACKGROUND_YIELD_NANOS);
        idleStrategy.idle();
        assertThat(clock.sleeps()).hasSize(1);
    }

    /// Other ranks may need the carrier of this thread.
    @Test
    void virtualThreadsYieldInsteadOfSpinning() throws InterruptedException {
        IdleStrategy idleStrategy = idleStrategy(false);
        Thread.ofVirtual().start(() -> await(idleStrategy, MIN_SPIN_NANOS - 1)).join();
        assertThat(idleStrategy.waits().toString()).contains(" 1 while yielding");
    }

    @Test
    void bytesOfALinkEndTheSleep() throws IOException {
        IdleStrategy idleStrategy = idleStrategy(true);
        try (idleStrategy;
                ChannelLink.Pair links = ChannelLink.pair()) {
            idleStrategy.addLinkUser(parker -> parker.wakeOnReadable(links.first()));
            idleStrategy.waitForLinks();
            links.send(1);
            idleStrategy.idle();
            clock.advance(LINK_YIELD_NANOS);
            idleStrategy.idle();
            idleStrategy.reset();
            assertThat(clock.sleeps()).isEmpty();
            assertThat(idleStrategy.waits().toString()).contains(" 1 while sleeping");
        }
    }

    /// Other ranks of the host could not end a sleep in a selector.
    @Test
    void linksEndNoSleepOfARankThatSharesMemory() throws IOException {
        IdleStrategy idleStrategy = idleStrategy(true);
        try (idleStrategy;
                ChannelLink.Pair links = ChannelLink.pair()) {
            idleStrategy.addLinkUser(parker -> parker.wakeOnReadable(links.first()));
            links.send(1);
            idleStrategy.idle();
            clock.advance(YIELD_NANOS);
            idleStrategy.idle();
            assertThat(clock.sleeps()).hasSize(1);
        }
    }

    /// The system needs a core to deliver the message.
    @Test
    void yieldsForLinksThoughCoresAreFree() throws IOException {
        IdleStrategy idleStrategy = idleStrategy(false);
        try (idleStrategy;
                ChannelLink.Pair links = ChannelLink.pair()) {
            idleStrategy.addLinkUser(parker -> parker.wakeOnReadable(links.first()));
            idleStrategy.waitForLinks();
            idleStrategy.idle();
            idleStrategy.reset();
            assertThat(idleStrategy.waits().toString())
                    .startsWith("0 waits ended while spinning, 1 while yielding");
            links.send(1);
            idleStrategy.idle();
            clock.advance(LINK_YIELD_NANOS);
            idleStrategy.idle();
            idleStrategy.reset();
            assertThat(idleStrategy.waits().toString()).endsWith(" 1 while sleeping");
        }
    }

    @Test
    void sleepsAsBeforeIfNoLinkIsAwaited() {
        IdleStrategy idleStrategy = idleStrategy(true);
        idleStrategy.addLinkUser(_ -> {});
        idleStrategy.waitForLinks();
        idleStrategy.idle();
        clock.advance(YIELD_NANOS);
        idleStrategy.idle();
        assertThat(clock.sleeps()).hasSize(1);
    }

    @Test
    void lostRankEndsAWaitForALink() throws IOException {
        IdleStrategy idleStrategy =
                new IdleStrategy(
                        () -> {
                            clock.advance(YIELD_NANOS);
                            if (checks.incrementAndGet() == 3) {
                                throw new IllegalStateException("rank 1 is gone");
                            }
                        },
                        clock,
                        true);
        try (idleStrategy;
                ChannelLink.Pair links = ChannelLink.pair()) {
            idleStrategy.addLinkUser(parker -> parker.wakeOnReadable(links.first()));
            idleStrategy.waitForLinks();
            idleStrategy.idle();
            idleStrategy.idle(); // sleeps for a millisecond, as no byte comes
            assertThatThrownBy(idleStrategy::idle).hasMessage("rank 1 is gone");
            assertThat(clock.sleeps()).isEmpty();
            idleStrategy.reset();
            assertThat(idleStrategy.waits().toString()).endsWith(" 1 while sleeping");
        }
    }

    @Test
    void livenessExceptionEndsTheWait() {
        IdleStrategy idleStrategy =
                new IdleStrategy(
                        () -> {
                            if (checks.incrementAndGet() == 3) {
                                throw new IllegalStateException("rank 1 is gone");
                            }
                        },
                        clock,
                        true);
        idleStrategy.idle();
        idleStrategy.idle();
        assertThatThrownBy(idleStrategy::idle).hasMessage("rank 1 is gone");
    }
}
