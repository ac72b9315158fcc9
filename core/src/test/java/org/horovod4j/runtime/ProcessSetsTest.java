package org.horovod4j.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.AllreduceOptions;
import org.horovod4j.AlltoallOptions;
import org.horovod4j.Communicator;
import org.horovod4j.Handle;
import org.horovod4j.MismatchException;
import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.ReducescatterOptions;
import org.horovod4j.ShutDownException;
import org.horovod4j.Tensor;
import org.horovod4j.testing.Layout;
import org.horovod4j.testing.MultiRankLayouts;
import org.horovod4j.testing.World;
import org.horovod4j.testing.World.Transport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;

/// Operations in process sets.
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD) // a hang would never end
class ProcessSetsTest {
    private static int[] every(int step, int start, int size) {
        return IntStream.iterate(start, rank -> rank < size, rank -> rank + step).toArray();
    }

    /// An allreduce in the set gives the sum of its ranks.
    private static void sumsItsRanks(ProcessSet set, String name, int times) {
        int expected = set.ranks().stream().mapToInt(Integer::intValue).sum();
        Communicator comm = set.communicator();
        int jobRank = set.ranks().get(comm.rank());
        for (int i = 0; i < times; i++) {
            Tensor tensor = Tensor.of(new int[] {jobRank, 1});
            comm.allreduce(name, tensor, ReduceOp.SUM);
            assertThat(tensor.toIntArray()).containsExactly(expected, set.size());
        }
    }

    @MultiRankLayouts
    void disjointSetsRunConcurrently(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            ProcessSet even = comm.addProcessSet(every(2, 0, comm.size()));
                            ProcessSet odd = comm.addProcessSet(every(2, 1, comm.size()));
                            ProcessSet mine = comm.rank() % 2 == 0 ? even : odd;
                            ProcessSet other = comm.rank() % 2 == 0 ? odd : even;
                            sumsItsRanks(mine, "same name in both", 20);
                            assertThat(mine.isIncluded()).isTrue();
                            assertThat(mine.rank()).isEqualTo(comm.rank() / 2);
                            assertThat(other.isIncluded()).isFalse();
                            assertThatThrownBy(other::communicator)
                                    .isInstanceOf(IllegalStateException.class)
                                    .hasMessageContaining(
                                            "rank %d is not in".formatted(comm.rank()));
                            assertThatThrownBy(other::rank)
                                    .isInstanceOf(IllegalStateException.class);
                            mine.communicator().barrier();
                        });
    }

    @ParameterizedTest
    @EnumSource(Transport.class)
    void overlappingSetsRunConcurrently(Transport transport) {
        World.of(4)
                .via(transport)
                .run(
                        comm -> {
                            List<ProcessSet> sets = new ArrayList<>(comm.processSets());
                            sets.add(comm.addProcessSet(0, 1, 2));
                            sets.add(comm.addProcessSet(1, 2, 3));
                            sets.add(comm.addProcessSet(0, 3));
                            try (ExecutorService threads = Executors.newFixedThreadPool(4)) {
                                List<Future<?>> running = new ArrayList<>();
                                for (ProcessSet set : sets) {
                                    if (set.isIncluded()) {
                                        running.add(
                                                threads.submit(() -> sumsItsRanks(set, "t", 60)));
                                    }
                                }
                                for (Future<?> each : running) {
                                    each.get();
                                }
                            }
                        });
    }

    /// One rank waits for an operation of the set between those of the world, another the other way
    /// round.
    @Test
    void aSetDoesNotWaitForTheWorld() {
        World.run(
                3,
                comm -> {
                    ProcessSet pair = comm.addProcessSet(0, 1);
                    Tensor one = Tensor.of(new int[] {1});
                    Tensor two = Tensor.of(new int[] {1});
                    if (comm.rank() == 0) {
                        Handle<Tensor> world = comm.allreduceAsync("t", one, ReduceOp.SUM);
                        pair.communicator().allreduce("t", two, ReduceOp.SUM);
                        world.join();
                    } else if (comm.rank() == 1) {
                        Handle<Tensor> set =
                                pair.communicator().allreduceAsync("t", two, ReduceOp.SUM);
                        comm.allreduce("t", one, ReduceOp.SUM);
                        set.join();
                    } else {
                        comm.allreduce("t", one, ReduceOp.SUM);
                    }
                    assertThat(one.toIntArray()).containsExactly(3);
                    assertThat(two.toIntArray()).containsExactly(comm.rank() < 2 ? 2 : 1);
                });
    }

    /// Files are mapped and links are opened by the thread that adds the set.
    @MultiRankLayouts
    void interruptDoesNotEndAChangeAndIsPreserved(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            Thread.currentThread().interrupt();
                            ProcessSet set = comm.addProcessSet(comm.size() - 1);
                            if (comm.size() > 2) {
                                ProcessSet pair = comm.addProcessSet(0, 1);
                                if (pair.isIncluded()) {
                                    sumsItsRanks(pair, "t", 2);
                                }
                            }
                            if (set.isIncluded()) {
                                sumsItsRanks(set, "t", 2);
                            }
                            assertThat(comm.removeProcessSet(set)).isTrue();
                            assertThat(Thread.interrupted()).isTrue();
                        });
    }

    @Test
    void setsAreAddedAndRemoved() {
        World.run(
                3,
                comm -> {
                    ProcessSet all = comm.processSet();
                    assertThat(all.id()).isZero();
                    assertThat(all.ranks()).containsExactly(0, 1, 2);
                    assertThat(comm.processSets()).containsExactly(all);
                    ProcessSet pair = comm.addProcessSet(2, 0);
                    ProcessSet single = comm.addProcessSet(1);
                    assertThat(pair).hasToString("process set 1 of ranks [0, 2]");
                    assertThat(single.id()).isEqualTo(2);
                    assertThat(comm.processSets()).containsExactly(all, pair, single);
                    assertThat(comm.removeProcessSet(pair)).isTrue();
                    assertThat(comm.removeProcessSet(pair)).isFalse();
                    assertThat(comm.removeProcessSet(all)).isFalse();
                    assertThat(comm.processSets()).containsExactly(all, single);
                    if (pair.isIncluded()) {
                        assertThatThrownBy(pair::communicator)
                                .isInstanceOf(IllegalStateException.class)
                                .hasMessageContaining("was removed");
                    }
                    ProcessSet again = comm.addProcessSet(0, 2);
                    assertThat(again.id()).isEqualTo(1);
                    if (again.isIncluded()) {
                        sumsItsRanks(again, "t", 3);
                    }
                });
    }

    @Test
    void invalidSetsAreRejectedOnEveryRankAndTheNextOneWorks() {
        World.run(
                3,
                comm -> {
                    refused(comm, "names a rank twice", 1, 1);
                    refused(comm, "ranks go from 0 to 2", 0, 3);
                    refused(comm, "ranks go from 0 to 2", -1);
                    refused(comm, "at least one rank");
                    refused(comm, "there is a process set of ranks [0, 1, 2] already", 2, 1, 0);
                    ProcessSet set = comm.addProcessSet(1, 0);
                    refused(comm, "there is a process set of ranks [0, 1] already", 0, 1);
                    if (set.isIncluded()) {
                        sumsItsRanks(set, "t", 2);
                    }
                });
    }

    private static void refused(Communicator comm, String reason, int... ranks) {
        assertThatThrownBy(() -> comm.addProcessSet(ranks))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining(reason);
    }

    @MultiRankLayouts
    void differentSetsFailAndNameEachRanksRequest(Layout layout) {
        List<String> said =
                layout.world()
                        .call(
                                comm -> {
                                    int[] mine = comm.rank() == 1 ? new int[] {1} : new int[] {0};
                                    try {
                                        comm.addProcessSet(mine);
                                    } catch (MismatchException e) {
                                        comm.barrier();
                                        comm.addProcessSet(1);
                                        return String.valueOf(e.getMessage());
                                    }
                                    throw new AssertionError("the ranks wanted different sets");
                                });
        assertThat(said).containsOnly(said.getFirst());
        assertThat(said.getFirst())
                .startsWith(
                        """
                        changing process sets: the ranks disagree
                          rank 0: adding process sets [[0]]
                          rank 1: adding process sets [[1]]
                        """);
    }

    /// The number of a removed set is used again.
    @MultiRankLayouts
    void removingDifferentSetsOfOneNumberFails(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            ProcessSet former = comm.addProcessSet(0);
                            assertThat(comm.removeProcessSet(former)).isTrue();
                            ProcessSet current = comm.addProcessSet(1);
                            assertThat(current.id()).isEqualTo(former.id());
                            ProcessSet mine = comm.rank() == 0 ? former : current;
                            assertThatThrownBy(() -> comm.removeProcessSet(mine))
                                    .isInstanceOf(MismatchException.class)
                                    .hasMessageContaining(
                                            """
                                              rank 0: removing process set 1, which was removed before
                                              rank 1: removing process set 1
                                            """);
                            assertThat(comm.removeProcessSet(former)).isFalse();
                            assertThat(comm.removeProcessSet(current)).isTrue();
                        });
    }

    @MultiRankLayouts
    void operationsInFlightInARemovedSetFail(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            ProcessSet set = comm.addProcessSet(every(1, 1, comm.size()));
                            Handle<Tensor> pending = null;
                            // In a set of one rank it would complete at once.
                            boolean member = set.isIncluded() && set.size() > 1;
                            if (member && set.rank() == 0) {
                                pending =
                                        set.communicator()
                                                .allreduceAsync(
                                                        "t", Tensor.of(new int[1]), ReduceOp.SUM);
                            }
                            assertThat(comm.removeProcessSet(set)).isTrue();
                            if (pending != null) {
                                assertThatThrownBy(pending::join)
                                        .isInstanceOf(ShutDownException.class)
                                        .hasMessageContaining("was removed");
                            }
                            comm.barrier();
                        });
    }

    /// One rule for all rank numbers: they are those of the process set.
    @MultiRankLayouts
    void rootRankIsARankOfTheSet(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            ProcessSet set = comm.addProcessSet(every(1, 1, comm.size()));
                            if (!set.isIncluded()) {
                                return;
                            }
                            Communicator some = set.communicator();
                            int last = set.size() - 1;
                            int[] values = {comm.rank()};
                            some.broadcast("t", values, last);
                            assertThat(values).containsExactly(set.jobRank(last));
                            assertThat(some.<Integer>broadcastObject("o", comm.rank(), 0))
                                    .isEqualTo(1);
                            assertThat(some.allgather("g", new int[] {some.rank()}))
                                    .containsExactly(IntStream.range(0, set.size()).toArray());
                            assertThatThrownBy(() -> some.broadcast("t", values, last + 1))
                                    .isInstanceOf(IllegalArgumentException.class)
                                    .hasMessage(
                                            "broadcast of 't': there is no root rank %d in process set 1 of ranks %s."
                                                    + " A root is a rank of the process set, from 0 to %d;"
                                                    + " rank %d of the job is rank %d of the set",
                                            last + 1, set.ranks(), last, last + 1, last);
                            assertThatThrownBy(() -> some.broadcastObject("o", 1, 99))
                                    .isInstanceOf(IllegalArgumentException.class)
                                    .hasMessageEndingWith("from 0 to " + last);
                        });
    }

    @Test
    void ranksAreTranslatedBothWays() {
        World.run(
                4,
                comm -> {
                    ProcessSet set = comm.addProcessSet(3, 1);
                    assertThat(set.jobRank(0)).isEqualTo(1);
                    assertThat(set.jobRank(1)).isEqualTo(3);
                    assertThat(set.rankOf(1)).isZero();
                    assertThat(set.rankOf(3)).isEqualTo(1);
                    assertThatThrownBy(() -> set.jobRank(2))
                            .isInstanceOf(IllegalArgumentException.class)
                            .hasMessageContaining("has no rank 2: its ranks go from 0 to 1");
                    assertThatThrownBy(() -> set.rankOf(2))
                            .isInstanceOf(IllegalArgumentException.class)
                            .hasMessageContaining("rank 2 of the job is not in process set 1");
                });
    }

    @Test
    void optionsNameTheSetThatAnOperationRunsIn() {
        World.run(
                3,
                comm -> {
                    ProcessSet set = comm.addProcessSet(0, 2);
                    AllreduceOptions sum = AllreduceOptions.sum().withPostscale(10).in(set);
                    Tensor one = Tensor.of(new float[] {1, 1});
                    if (set.isIncluded()) {
                        comm.allreduce("t", one, sum);
                        comm.groupedAllreduce("g", List.of(one), sum.withPostscale(0.5));
                        assertThat(one.toFloatArray()).containsExactly(20, 20);
                        assertThat(
                                        comm.alltoall(
                                                        "a",
                                                        Tensor.of(new int[] {comm.rank(), 7}),
                                                        AlltoallOptions.splits(1, 0).in(set))
                                                .receivedSplits())
                                .containsExactly(set.rank() == 0 ? 1 : 0, set.rank() == 0 ? 1 : 0);
                        Tensor half =
                                comm.reducescatter(
                                        "r", one, ReducescatterOptions.average().in(set));
                        assertThat(half.toFloatArray()).containsExactly(20);
                    } else {
                        assertThatThrownBy(() -> comm.allreduce("t", one, sum))
                                .isInstanceOf(IllegalStateException.class)
                                .hasMessageContaining("rank 1 is not in");
                    }
                });
    }

    @Test
    void closingASetsCommunicatorClosesThatViewOnly() {
        World.run(
                3,
                comm -> {
                    ProcessSet set = comm.addProcessSet(0, 1);
                    if (set.isIncluded()) {
                        Communicator view = set.communicator();
                        try (view) {
                            assertThat(view.isOpen()).isTrue();
                        }
                        view.close();
                        assertThat(view.isOpen()).isFalse();
                        assertThatThrownBy(view::rank)
                                .isInstanceOf(IllegalStateException.class)
                                .hasMessageContaining("process set 1 of ranks [0, 1] is closed");
                        assertThatThrownBy(view::barrier).isInstanceOf(IllegalStateException.class);
                        assertThatThrownBy(view::shutdown)
                                .isInstanceOf(IllegalStateException.class);
                        sumsItsRanks(set, "t", 2); // through a new view
                        assertThat(set.communicator()).isSameAs(set.communicator());
                    }
                    assertThat(comm.isOpen()).isTrue();
                    comm.barrier();
                });
    }

    @Test
    void shutdownOfASetsCommunicatorLeavesTheJob() {
        World.run(
                2,
                comm -> {
                    ProcessSet set = comm.addProcessSet(0);
                    comm.barrier();
                    if (set.isIncluded()) {
                        set.communicator().shutdown();
                        assertThat(comm.isOpen()).isFalse();
                        assertThatThrownBy(comm::barrier).isInstanceOf(ShutDownException.class);
                    } else {
                        assertThatThrownBy(comm::barrier)
                                .isInstanceOf(ShutDownException.class)
                                .hasMessageContaining("rank 0");
                    }
                });
    }

    @Test
    void closingTheJobsCommunicatorLeavesTheJob() {
        World.run(
                2,
                comm -> {
                    comm.barrier();
                    comm.close();
                    comm.close();
                    comm.shutdown();
                    assertThat(comm.isOpen()).isFalse();
                    assertThatThrownBy(comm::barrier).isInstanceOf(ShutDownException.class);
                });
    }

    /// Reports name ranks of the job, not of the set.
    @Test
    void mismatchInASetNamesRanksOfTheJob() {
        World.run(
                4,
                comm -> {
                    ProcessSet set = comm.addProcessSet(1, 3);
                    if (set.isIncluded()) {
                        Tensor tensor = Tensor.of(new int[comm.rank()]);
                        assertThatThrownBy(
                                        () ->
                                                set.communicator()
                                                        .allreduce("t", tensor, ReduceOp.SUM))
                                .isInstanceOf(MismatchException.class)
                                .hasMessageContaining("[1] on rank 1")
                                .hasMessageContaining("[3] on rank 3");
                        sumsItsRanks(set, "t", 2);
                    }
                });
    }

    @MultiRankLayouts
    void joinInASetReturnsARankOfTheSet(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            int last = comm.size() - 1;
                            ProcessSet set = comm.addProcessSet(last);
                            if (set.isIncluded()) {
                                assertThat(set.communicator().join()).isZero();
                            }
                        });
    }

    @Test
    void departedRankFailsOperationsOfItsSets() {
        CountDownLatch missed = new CountDownLatch(1);
        World.run(
                3,
                comm -> {
                    ProcessSet set = comm.addProcessSet(0, 1);
                    comm.barrier();
                    if (comm.rank() == 2) {
                        missed.await();
                        return;
                    }
                    if (comm.rank() == 1) {
                        comm.close();
                        return;
                    }
                    assertThatThrownBy(() -> sumsItsRanks(set, "t", 1))
                            .isInstanceOf(ShutDownException.class)
                            .hasMessageContaining("rank 1");
                    missed.countDown();
                });
    }
}
