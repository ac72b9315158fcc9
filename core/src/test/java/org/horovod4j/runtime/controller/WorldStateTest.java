package org.horovod4j.runtime.controller;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.ConfigurationException;
import org.horovod4j.PeerLostException;
import org.horovod4j.ShutDownException;
import org.horovod4j.spi.RankDeparture;
import org.horovod4j.transport.LinkBrokenException;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;

class WorldStateTest {
    private static final List<Integer> RANKS = List.of(0, 1, 2);

    private final WorldState state = new WorldState();

    /// Rank 0 has called shutdown, and rank 1 has failed because of that.
    private void letZeroLeaveAndOneFail() {
        state.rankDeparted(new RankDeparture(0, "alpha", "called shutdown", true, Map.of(0, 7L)));
        state.rankDeparted(
                new RankDeparture(1, "alpha", "its process has ended", false, Map.of(0, 7L)));
    }

    @Test
    void brokenLinkIsExplainedByTheLossOfItsPeer() {
        letZeroLeaveAndOneFail();
        assertThat(state.explain(new LinkBrokenException(0, "end of stream", null), RANKS))
                .isInstanceOf(ShutDownException.class)
                .hasMessageContaining("rank 0 on alpha called shutdown");
        assertThat(state.explain(new LinkBrokenException(1, "end of stream", null), RANKS))
                .isInstanceOf(PeerLostException.class)
                .hasMessageContaining("rank 1 on alpha is lost: its process has ended");
    }

    @Test
    void firstDepartureIsNamed() {
        state.rankDeparted(new RankDeparture(2, "alpha", "called shutdown", true, Map.of()));
        letZeroLeaveAndOneFail();
        assertThat(state.explain(new LinkBrokenException(0, "end of stream", null), RANKS))
                .isInstanceOf(ShutDownException.class)
                .hasMessageContaining("rank 2 on alpha called shutdown");
    }

    @Test
    void otherErrorsPreferFailureOverDeparture() {
        letZeroLeaveAndOneFail();
        assertThat(state.explain(new ConfigurationException("no such address"), RANKS))
                .isInstanceOf(PeerLostException.class)
                .hasMessageContaining("rank 1");
    }

    /// All ranks find a wrong option, and one of them leaves first.
    @Test
    void aRankThatLeftForTheSameReasonIsNotTheCause() {
        ConfigurationException own = new ConfigurationException("HOROVOD_CPU_OPERATIONS is MPI");
        state.rankDeparted(
                new RankDeparture(
                        1, "alpha", "could not start: " + own.getMessage(), false, Map.of()));
        assertThat(state.explain(own, RANKS)).isSameAs(own);
        assertThat(state.explain(new ConfigurationException("no such address"), RANKS))
                .isInstanceOf(PeerLostException.class);
    }

    @Test
    void withoutFailureTheFirstDepartureIsTheCause() {
        state.rankDeparted(new RankDeparture(2, "alpha", "called shutdown", true, Map.of()));
        state.rankDeparted(new RankDeparture(0, "alpha", "called shutdown", true, Map.of()));
        assertThat(state.explain(new LinkBrokenException(1, "end of stream", null), RANKS))
                .isInstanceOf(ShutDownException.class)
                .hasMessageContaining("rank 2");
        assertThat(state.explain(new LinkBrokenException(1, "end of stream", null), List.of(0, 1)))
                .hasMessageContaining("rank 0");
    }

    @Test
    void runningOperationsFailWithTheReasonOfThisRanksDeparture() {
        ShutDownException reason = new ShutDownException("this rank has called shutdown");
        state.stop(reason);
        assertThatThrownBy(() -> state.check(null, 0, RANKS, 1)).isSameAs(reason);
    }
}
