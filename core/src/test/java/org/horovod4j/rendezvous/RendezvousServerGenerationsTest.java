package org.horovod4j.rendezvous;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.PeerLostException;
import org.horovod4j.rendezvous.RendezvousTestRanks.Rank;
import org.junit.jupiter.api.Test;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;

/// The generations of an elastic job: each has its own size, and older ones do not affect it.
final class RendezvousServerGenerationsTest {
    @Test
    void eachGenerationHasItsOwnSize() throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(RendezvousTestRanks.LONG)) {
            ranks.server.beginGeneration(0, 3);
            List<Rank> three =
                    List.of(ranks.rank(0, 3, 0), ranks.rank(1, 3, 0), ranks.rank(2, 3, 0));
            ranks.onEach(three, rank -> assertThat(rank.join()).hasSize(3));
            three.forEach(rank -> rank.client.leave(Map.of(), true, "called shutdown"));

            ranks.server.beginGeneration(4, 2);
            ranks.onEach(
                    List.of(ranks.rank(0, 2, 4), ranks.rank(1, 2, 4)),
                    rank -> assertThat(rank.join()).hasSize(2));
        }
    }

    @Test
    void joinOfOldGenerationFails() throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(RendezvousTestRanks.LONG)) {
            ranks.server.beginGeneration(0, 2);
            ranks.server.beginGeneration(1, 1);
            assertThatThrownBy(ranks.rank(0, 2, 0)::join)
                    .isInstanceOf(PeerLostException.class)
                    .hasMessageContaining("generation 0 is over, the job is in generation 1");
            assertThat(ranks.rank(0, 1, 1).join()).hasSize(1);
        }
    }

    @Test
    void nextGenerationFailsPendingJoins() throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(RendezvousTestRanks.LONG)) {
            ranks.server.beginGeneration(0, 2);
            Future<?> waiting = ranks.async(ranks.rank(0, 2, 0)::join);
            // Refused on the same server, so the first join has arrived by now.
            assertThatThrownBy(ranks.rank(0, 3, 0)::join).hasMessageContaining("size 3");
            ranks.server.beginGeneration(1, 1);
            assertThatThrownBy(waiting::get).cause().isInstanceOf(PeerLostException.class);
        }
    }

    @Test
    void lossFailsAllJoinsOfItsGeneration() throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(RendezvousTestRanks.LONG)) {
            ranks.server.beginGeneration(0, 3);
            Future<?> waiting = ranks.async(ranks.rank(0, 3, 0)::join);
            ranks.server.reportExit(0, 2, "killed by signal 9 (SIGKILL)");
            assertThatThrownBy(waiting::get)
                    .cause()
                    .isInstanceOf(PeerLostException.class)
                    .hasMessageContaining("rank 2")
                    .hasMessageContaining("killed by signal 9 (SIGKILL), before it had joined");
            assertThatThrownBy(ranks.rank(1, 3, 0)::join).isInstanceOf(PeerLostException.class);
        }
    }

    @Test
    void aLossReportedForAnotherGenerationIsIgnored() throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(RendezvousTestRanks.LONG)) {
            ranks.server.beginGeneration(0, 2);
            ranks.server.beginGeneration(1, 2);
            ranks.server.reportExit(0, 1, "exit code 1");
            ranks.server.reportLoss(0, 0, "contact with its host was lost");
            List<Rank> both = List.of(ranks.rank(0, 2, 1), ranks.rank(1, 2, 1));
            ranks.onEach(both, rank -> assertThat(rank.join()).hasSize(2));

            ranks.server.reportLoss(1, 0, "contact with its host was lost");
            assertThat(both.get(1).losses.take().reason())
                    .isEqualTo("contact with its host was lost");
        }
    }

    @Test
    void missingRankIsDeclaredLost() throws Exception {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(Duration.ofMillis(300))) {
            ranks.server.beginGeneration(0, 2);
            assertThatThrownBy(ranks.rank(1, 2, 0)::join)
                    .isInstanceOfSatisfying(
                            PeerLostException.class, e -> assertThat(e.lostRank()).isZero())
                    .hasMessageContaining("it had not joined after 0.3 s");
        }
    }

    @Test
    void generationNumbersMustIncrease() {
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(RendezvousTestRanks.LONG)) {
            ranks.server.beginGeneration(2, 1);
            assertThatThrownBy(() -> ranks.server.beginGeneration(2, 1))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("generation 2 cannot begin after 2");
        }
        try (RendezvousTestRanks ranks = new RendezvousTestRanks(2)) {
            assertThatThrownBy(() -> ranks.server.beginGeneration(0, 2))
                    .hasMessageContaining("in a job of size 2");
        }
    }
}
