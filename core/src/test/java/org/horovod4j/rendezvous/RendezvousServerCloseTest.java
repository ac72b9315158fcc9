package org.horovod4j.rendezvous;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.horovod4j.rendezvous.RendezvousTestRanks.Rank;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;

/// How long a server in the process of a rank waits for the other ranks.
final class RendezvousServerCloseTest {
    private static final Duration LONG = Duration.ofHours(1);

    @Test
    void awaitDisconnectsStillReportsFailures() throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(3)) {
            List<Rank> all = ranks.joined(0);
            leave(all.get(0), true);
            Thread waiting = startAwaiting(ranks);
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
    void awaitDisconnectsReturnsAfterFailure() throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(2)) {
            List<Rank> all = ranks.joined(0);
            leave(all.get(0), false);
            assertThat(all.get(1).losses.take().orderly()).isFalse();

            startAwaiting(ranks).join();
        }
    }

    @Test
    void awaitDisconnectsHasTimeout() throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(2)) {
            Rank rank = ranks.joined(0).getFirst();
            ranks.server.awaitDisconnects(Duration.ofMillis(1));
            assertThat(rank.losses).isEmpty();
        }
    }

    private static Thread startAwaiting(RendezvousTestRanks ranks) throws InterruptedException {
        CountDownLatch started = new CountDownLatch(1);
        Thread thread =
                Thread.ofPlatform()
                        .daemon()
                        .start(
                                () -> {
                                    started.countDown();
                                    ranks.server.awaitDisconnects(LONG);
                                });
        started.await();
        return thread;
    }

    private static void leave(Rank rank, boolean orderly) {
        rank.client.leave(Map.of(), orderly, "left");
        rank.client.close();
    }
}
