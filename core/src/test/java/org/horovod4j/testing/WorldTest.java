package org.horovod4j.testing;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import org.horovod4j.Communicator;
import org.horovod4j.PeerLostException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import java.io.IOException;
import java.util.List;
import java.util.stream.IntStream;

@Timeout(
        value = 60,
        threadMode = Timeout.ThreadMode.SEPARATE_THREAD) // a waiting rank would never return
class WorldTest {
    @EveryLayout
    void resultsAreOrderedByRank(Layout layout) {
        assertThat(layout.world().call(Communicator::rank))
                .containsExactlyElementsOf(IntStream.range(0, layout.size()).boxed().toList());
    }

    @EveryLayout
    void ranksAreNumberedByHost(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            List<Integer> localSizes =
                                    comm.allgatherObject("local size", comm.localSize());
                            List<Integer> localRanks =
                                    comm.allgatherObject("local rank", comm.localRank());
                            assertThat(comm.size()).isEqualTo(layout.size());
                            assertThat(localRanks.stream().filter(rank -> rank == 0))
                                    .hasSize(layout.hosts());
                            assertThat(comm.crossSize())
                                    .isEqualTo(
                                            (int)
                                                    localRanks.stream()
                                                            .filter(r -> r == comm.localRank())
                                                            .count());
                            assertThat(comm.crossRank()).isBetween(0, comm.crossSize() - 1);
                            assertThat(comm.isHomogeneous())
                                    .isEqualTo(localSizes.stream().distinct().count() == 1);
                        });
    }

    @MultiRankLayouts
    void failingRankStopsOthersAndItsExceptionIsThrown(Layout layout) {
        int thrower = layout.size() / 2;
        Throwable seen =
                catchThrowable(
                        () ->
                                layout.world()
                                        .run(
                                                comm -> {
                                                    if (comm.rank() == thrower) {
                                                        throw new ArithmeticException(
                                                                "from the body");
                                                    }
                                                    comm.barrier();
                                                }));
        assertThat(seen).isInstanceOf(ArithmeticException.class).hasMessage("from the body");
        assertThat(seen.getSuppressed())
                .hasSize(layout.size() - 1)
                .allSatisfy(
                        other ->
                                assertThat(other)
                                        .isInstanceOfSatisfying(
                                                PeerLostException.class,
                                                lost ->
                                                        assertThat(lost.lostRank())
                                                                .isEqualTo(thrower))
                                        .hasMessageContaining("rank " + thrower)
                                        .hasMessageContaining("from the body"));
    }

    @Test
    void errorsAndCheckedExceptionsArePropagated() {
        assertThatThrownBy(
                        () ->
                                World.run(
                                        1,
                                        _ -> {
                                            throw new AssertionError("wrong");
                                        }))
                .isInstanceOf(AssertionError.class)
                .hasMessage("wrong");
        assertThatThrownBy(
                        () ->
                                World.run(
                                        1,
                                        _ -> {
                                            throw new IOException("unreadable");
                                        }))
                .hasCauseInstanceOf(IOException.class);
    }

    @Test
    void concurrentWorldsAreIndependent() {
        World.run(
                2,
                outer ->
                        World.run(
                                3,
                                inner ->
                                        assertThat(
                                                        inner.allgatherObject(
                                                                "both",
                                                                outer.rank() * 10 + inner.rank()))
                                                .containsExactly(
                                                        outer.rank() * 10,
                                                        outer.rank() * 10 + 1,
                                                        outer.rank() * 10 + 2)));
    }
}
