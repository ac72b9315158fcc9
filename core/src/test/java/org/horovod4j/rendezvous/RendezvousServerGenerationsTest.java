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

/// The meetings of an elastic job: each of its own size, and none disturbed by those before it.
final class RendezvousServerGenerationsTest {
    @Test
    void eachGenerationHasItsOwnSize() throws Exception {
        try (RendezvousTestRanks rendezvousTestRanks =
                new RendezvousTestRanks(RendezvousTestRanks.CALM)) {
            rendezvousTestRanks.server.beginGeneration(0, 3);
            List<Rank> three =
                    List.of(
                            rendezvousTestRanks.rank(0, 3, 0),
                            rendezvousTestRanks.rank(1, 3, 0),
                            rendezvousTestRanks.rank(2, 3, 0));
            rendezvousTestRanks.onEach(three, rank -> assertThat(rank.join()).hasSize(3));
            three.forEach(rank -> rank.client.leave(Map.of(), true, "called shutdown"));

            rendezvousTestRanks.server.beginGeneration(4, 2);
            rendezvousTestRanks.onEach(
                    List.of(rendezvousTestRanks.rank(0, 2, 4), rendezvousTestRanks.rank(1, 2, 4)),
                    rank -> assertThat(rank.join()).hasSize(2));
        }
    }

    @Test
    void joinOfOldGenerationFails() throws Exception {
        try (RendezvousTestRanks rendezvousTestRanks =
                new RendezvousTestRanks(RendezvousTestRanks.CALM)) {
            rendezvousTestRanks.server.beginGeneration(0, 2);
            rendezvousTestRanks.server.beginGeneration(1, 1);
            assertThatThrownBy(rendezvousTestRanks.rank(0, 2, 0)::join)
                    .isInstanceOf(PeerLostException.class)
                    .hasMessageContaining("generation 0 is over, the job is in generation 1");
            assertThat(rendezvousTestRanks.rank(0, 1, 1).join()).hasSize(1);
        }
    }

    @Test
    void nextGenerationFailsPendingJoins() throws Exception {
        try (RendezvousTestRanks rendezvousTestRanks =
                new RendezvousTestRanks(RendezvousTestRanks.CALM)) {
            rendezvousTestRanks.server.beginGeneration(0, 2);
            Future<?> waiting = rendezvousTestRanks.async(rendezvousTestRanks.rank(0, 2, 0)::join);
            // The server has it when it refuses another of the same rank.
            assertThatThrownBy(rendezvousTestRanks.rank(0, 3, 0)::join)
                    .hasMessageContaining("size of 3");
            rendezvousTestRanks.server.beginGeneration(1, 1);
            assertThatThrownBy(waiting::get).cause().isInstanceOf(PeerLostException.class);
        }
    }

    @Test
    void lossFailsAllJoinsOfItsGeneration() throws Exception {
        try (RendezvousTestRanks rendezvousTestRanks =
                new RendezvousTestRanks(RendezvousTestRanks.CALM)) {
            rendezvousTestRanks.server.beginGeneration(0, 3);
            Future<?> waiting = rendezvousTestRanks.async(rendezvousTestRanks.rank(0, 3, 0)::join);
            rendezvousTestRanks.server.reportExit(0, 2, "killed by signal 9 (SIGKILL)");
            assertThatThrownBy(waiting::get)
                    .cause()
                    .isInstanceOf(PeerLostException.class)
                    .hasMessageContaining("rank 2")
                    .hasMessageContaining("killed by signal 9 (SIGKILL), before it had joined");
            assertThatThrownBy(rendezvousTestRanks.rank(1, 3, 0)::join)
                    .isInstanceOf(PeerLostException.class);
        }
    }

    @Test
    void aLossReportedForAnotherGenerationIsIgnored() throws Exception {
        try (RendezvousTestRanks rendezvousTestRanks =
                new RendezvousTestRanks(RendezvousTestRanks.CALM)) {
            rendezvousTestRanks.server.beginGeneration(0, 2);
            rendezvousTestRanks.server.beginGeneration(1, 2);
            rendezvousTestRanks.server.reportExit(0, 1, "exit code 1");
            rendezvousTestRanks.server.reportLoss(0, 0, "contact with its host was lost");
            List<Rank> both =
                    List.of(rendezvousTestRanks.rank(0, 2, 1), rendezvousTestRanks.rank(1, 2, 1));
            rendezvousTestRanks.onEach(both, rank -> assertThat(rank.join()).hasSize(2));

            rendezvousTestRanks.server.reportLoss(1, 0, "contact with its host was lost");
            assertThat(both.get(1).losses.take().reason())
                    .isEqualTo("contact with its host was lost");
        }
    }

    @Test
    void missingRankIsDeclaredLost() throws Exception {
        try (RendezvousTestRanks rendezvousTestRanks =
                new RendezvousTestRanks(Duration.ofMillis(300))) {
            rendezvousTestRanks.server.beginGeneration(0, 2);
            assertThatThrownBy(rendezvousTestRanks.rank(1, 2, 0)::join)
                    .isInstanceOfSatisfying(
                            PeerLostException.class, e -> assertThat(e.lostRank()).isZero())
                    .hasMessageContaining("not there after 0.3 s");
        }
    }

    @Test
    void generationNumbersMustIncrease() {
        try (RendezvousTestRanks rendezvousTestRanks =
                new RendezvousTestRanks(RendezvousTestRanks.CALM)) {
            rendezvousTestRanks.server.beginGeneration(2, 1);
            assertThatThrownBy(() -> rendezvousTestRanks.server.beginGeneration(2, 1))
                    .isInstanceOf(IllegalStateException.class)
                    .hasMessageContaining("generation 2 cannot begin after 2");
        }
        try (RendezvousTestRanks rendezvousTestRanks = new RendezvousTestRanks(2)) {
            assertThatThrownBy(() -> rendezvousTestRanks.server.beginGeneration(0, 2))
                    .hasMessageContaining("in a job of size 2");
        }
    }
}
