package org.horovod4j.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.horovod4j.Communicator;
import org.horovod4j.Handle;
import org.horovod4j.MismatchException;
import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
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

/// Ranks that act together beside others.
@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD) // a hang would never end
class ProcessSetsTest {
    private static int[] every(int step, int start, int size) {
        return IntStream.iterate(start, rank -> rank < size, rank -> rank + step).toArray();
    }

    /// The sum of the ranks of a set, by the set.
    private static void sumsItsRanks(ProcessSet set, String name, int times) {
        int expected = set.ranks().stream().mapToInt(Integer::intValue).sum();
        Communicator comm = set.communicator();
        int worldRank = set.ranks().get(comm.rank());
        for (int i = 0; i < times; i++) {
            Tensor tensor = Tensor.of(new int[] {worldRank, 1});
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

    /// One rank waits for a set's operation in the middle of the world's, another the other way
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
        assertThat(said.getFirst()).contains("rank 1: ", "[[1]]", "[[0]]");
    }

    @MultiRankLayouts
    void operationsInFlightInARemovedSetFail(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            ProcessSet set = comm.addProcessSet(every(1, 1, comm.size()));
                            Handle<Tensor> pending = null;
                            // On a set of one rank it would be done at once.
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

    @MultiRankLayouts
    void rootRankIsAGlobalRankInTheSet(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            ProcessSet set = comm.addProcessSet(every(1, 1, comm.size()));
                            if (!set.isIncluded()) {
                                return;
                            }
                            Communicator some = set.communicator();
                            int last = comm.size() - 1;
                            Tensor tensor = Tensor.of(new int[] {comm.rank()});
                            some.broadcast("t", tensor, last);
                            assertThat(tensor.toIntArray()).containsExactly(last);
                            assertThatThrownBy(() -> some.broadcast("t", tensor, 0))
                                    .isInstanceOf(IllegalArgumentException.class)
                                    .hasMessageContaining("root rank 0 is not in process set 1");
                        });
    }

    /// Reports name ranks of the job, not of the set.
    @Test
    void mismatchInASetNamesGlobalRanks() {
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
    void joinInASetReturnsAGlobalRank(Layout layout) {
        layout.world()
                .run(
                        comm -> {
                            int last = comm.size() - 1;
                            ProcessSet set = comm.addProcessSet(last);
                            if (set.isIncluded()) {
                                assertThat(set.communicator().join()).isEqualTo(last);
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
