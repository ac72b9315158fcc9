package org.horovod4j.rendezvous;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.horovod4j.rendezvous.Ranks.Rank;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;

/// How long a server stays that lives in the process of a rank.
final class DepartureTest {
    private static final Duration LONG = Duration.ofHours(1);

    @Test
    void theServerWaitsForRanksThatAreStillThereAndTellsThemOfAFailure() throws Exception {
        try (Ranks ranks = new Ranks(3)) {
            List<Rank> all = ranks.joined(0);
            leave(all.get(0), true);
            Thread waiting = waiting(ranks);
            await().until(() -> waiting.getState() == Thread.State.TIMED_WAITING);
            assertThat(all.get(2).losses.take().rank()).isZero();

            leave(all.get(1), false);
            assertThat(all.get(2).losses.take().rank()).isOne();
            assertThat(waiting.isAlive()).isTrue();
            leave(all.get(2), true);
            waiting.join();
        }
    }

    @Test
    void thereIsNothingToWaitForAfterAFailure() throws Exception {
        try (Ranks ranks = new Ranks(2)) {
            List<Rank> all = ranks.joined(0);
            leave(all.get(0), false);
            assertThat(all.get(1).losses.take().orderly()).isFalse();

            waiting(ranks).join();
        }
    }

    @Test
    void theWaitingHasALimit() throws Exception {
        try (Ranks ranks = new Ranks(2)) {
            Rank there = ranks.joined(0).getFirst();
            ranks.server.awaitDepartures(Duration.ofMillis(1));
            assertThat(there.losses).isEmpty();
        }
    }

    private static Thread waiting(Ranks ranks) throws InterruptedException {
        CountDownLatch started = new CountDownLatch(1);
        Thread thread =
                Thread.ofPlatform()
                        .daemon()
                        .start(
                                () -> {
                                    started.countDown();
                                    ranks.server.awaitDepartures(LONG);
                                });
        started.await();
        return thread;
    }

    private static void leave(Rank rank, boolean orderly) {
        rank.client.leave(Map.of(), orderly, "left");
        rank.client.close();
    }
}
