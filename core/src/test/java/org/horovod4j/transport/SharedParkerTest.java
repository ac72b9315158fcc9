package org.horovod4j.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.horovod4j.natives.Futex;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.VarHandle;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

/// Sleeps here would last an hour, so a lost wake-up fails the test.
@Timeout(600)
class SharedParkerTest {
    private static final VarHandle LONG = ValueLayout.JAVA_LONG.varHandle();
    private static final long HOUR_NANOS = 3_600_000_000_000L;

    private final MemorySegment[] regions =
            Stream.generate(() -> Arena.ofAuto().allocate(RegionLayout.BYTES, 128))
                    .limit(3)
                    .toArray(MemorySegment[]::new);

    @BeforeEach
    void checkThatThisSystemCanPark() {
        assumeTrue(Futex.isAvailable(), "Linux on x86-64 or ARM, with native access");
    }

    private SharedParker parker(int index) {
        return new SharedParker(regions, index);
    }

    /// Parks until the counter of `member` has reached `value`.
    private void await(SharedParker parker, int member, long value) {
        parker.awaitMember(member);
        parker.prepare();
        while (counter(member) < value) {
            parker.park(HOUR_NANOS);
        }
        parker.cancel();
    }

    private long counter(int member) {
        return (long) LONG.getAcquire(regions[member], 0L);
    }

    private void count(SharedParker parker, int member, long value) {
        LONG.setRelease(regions[member], 0L, value);
        parker.unparkOthers();
    }

    @Test
    void noWakeUpIsLost() {
        int rounds = 20_000;
        CompletableFuture<Void> other =
                CompletableFuture.runAsync(
                        () -> {
                            SharedParker parker = parker(1);
                            for (long round = 1; round <= rounds; round++) {
                                await(parker, 0, round);
                                count(parker, 1, round);
                            }
                        });
        SharedParker parker = parker(0);
        for (long round = 1; round <= rounds; round++) {
            count(parker, 0, round);
            await(parker, 1, round);
        }
        other.join();
        assertThat(regions[0].get(ValueLayout.JAVA_INT, RegionLayout.PARKED_COUNT)).isZero();
    }

    @Test
    void onlyTheAwaitedMemberWakes() {
        SharedParker parker = parker(0);
        parker.awaitMember(2);
        parker.prepare();
        parker(1).unparkOthers();
        assertThat(word(0)).isEqualTo(4);
        parker(2).unparkOthers();
        assertThat(word(0)).isZero();
        parker.park(HOUR_NANOS); // returns at once: the wake-up came before
    }

    @Test
    void aMessageWakesWhateverTheRankWaitsFor() {
        SharedParker parker = parker(0);
        parker.awaitMember(2);
        parker.prepare();
        parker(1).unpark(0);
        assertThat(word(0)).isZero();
    }

    @Test
    void parksOnlyIfAMemberEndsTheWait() {
        SharedParker parker = parker(0);
        assertThat(parker.canPark()).as("messages of other hosts").isFalse();
        parker.awaitMember(1);
        assertThat(parker.canPark()).isTrue();
        parker.awaitAnyMember();
        parker.setSpansProcessSet();
        assertThat(parker.canPark()).isTrue();
    }

    private int word(int member) {
        return regions[member].get(ValueLayout.JAVA_INT, RegionLayout.PARKED);
    }
}
