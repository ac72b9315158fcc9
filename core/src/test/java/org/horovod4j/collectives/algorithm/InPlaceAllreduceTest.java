package org.horovod4j.collectives.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.spi.ActivityRecorder;
import org.horovod4j.spi.FusedTensors;
import org.horovod4j.transport.Clock;
import org.horovod4j.transport.IdleStrategy;
import org.horovod4j.transport.LocalGroup;
import org.horovod4j.transport.local.LocalMemoryDomain;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;

/// Ranks reduce chunks of other ranks' parts, and no chunk is reduced twice.
class InPlaceAllreduceTest {
    private static final int RANKS = 3;

    /// Many chunks per rank, none of them of even size.
    private static final long LARGE = 1_000_003;

    private final LocalMemoryDomain domain = new LocalMemoryDomain(List.of(0, 1, 2));

    @Test
    void otherRanksReduceThePartOfALateRank() throws Exception {
        try (Arena arena = Arena.ofShared();
                ExecutorService threads = Executors.newFixedThreadPool(RANKS)) {
            ThreeRanks threeRanks = new ThreeRanks(arena, LARGE);
            threeRanks.barrier(threads);
            Future<?> first = threads.submit(() -> threeRanks.reduce(0));
            Future<?> second = threads.submit(() -> threeRanks.reduce(1));

            await().until(() -> threeRanks.isSummed(2));
            assertThat(first).isNotDone(); // until the late rank has found no chunks left
            assertThat(second).isNotDone();

            threeRanks.reduce(2);
            first.get();
            second.get();
            threeRanks.assertSummed();
        }
    }

    @ParameterizedTest(name = "{0} floats")
    @ValueSource(longs = {1, 5, 32_768, 98_303, 98_304, 98_305, 98_308, LARGE})
    void everyElementIsReducedExactlyOnce(long length) throws Exception {
        try (Arena arena = Arena.ofShared();
                ExecutorService threads = Executors.newFixedThreadPool(RANKS)) {
            ThreeRanks threeRanks = new ThreeRanks(arena, length);
            for (int time = 0; time < 20; time++) {
                threeRanks.fill();
                threeRanks.barrier(threads);
                threeRanks.onEach(threads, threeRanks::reduce);
                threeRanks.assertSummed();
            }
        }
    }

    /// Three ranks with one tensor each in shared memory. All values are small integers, so that
    /// sums are exact.
    private final class ThreeRanks {
        private final long length;
        private final List<LocalGroup> locals = new ArrayList<>();
        private final List<InPlaceAllreduce> algorithms = new ArrayList<>();
        private final MemorySegment[][] tensors = new MemorySegment[1][RANKS];
        private long stamp;

        ThreeRanks(Arena arena, long length) {
            this.length = length;
            for (int rank = 0; rank < RANKS; rank++) {
                LocalGroup local =
                        new LocalGroup(
                                domain.memory(rank),
                                new IdleStrategy(() -> {}, Clock.SYSTEM, true));
                locals.add(local);
                algorithms.add(
                        new InPlaceAllreduce(local, ActivityRecorder.NONE, HelperThreads.none()));
                tensors[0][rank] = arena.allocate(length * Float.BYTES, 64);
            }
            fill();
        }

        void fill() {
            for (int rank = 0; rank < RANKS; rank++) {
                for (long i = 0; i < length; i++) {
                    tensors[0][rank].setAtIndex(ValueLayout.JAVA_FLOAT, i, value(rank, i));
                }
            }
        }

        private float value(int rank, long element) {
            return (rank + 1) * (1 + element % 251);
        }

        void barrier(ExecutorService threads) throws Exception {
            stamp++;
            onEach(threads, rank -> locals.get(rank).barrier(stamp));
        }

        void onEach(ExecutorService threads, Action action) throws Exception {
            List<Callable<Boolean>> each = new ArrayList<>();
            for (int rank = 0; rank < RANKS; rank++) {
                int mine = rank;
                each.add(
                        () -> {
                            action.run(mine);
                            return true;
                        });
            }
            for (Future<Boolean> done : threads.invokeAll(each)) {
                assertThat(done.get()).isTrue();
            }
        }

        void reduce(int rank) {
            FusedTensors fusedTensors = new FusedTensors(DataType.FLOAT32, length);
            fusedTensors.set(0, tensors[0][rank], tensors[0][rank]);
            ScaledReduction sum =
                    new ScaledReduction(
                            Kernels.best(), DataType.FLOAT32, ReduceOp.SUM, Scale.NONE, RANKS);
            algorithms.get(rank).run(sum, fusedTensors, tensors);
        }

        boolean isSummed(int rank) {
            for (long i = 0; i < length; i++) {
                float sum = value(0, i) + value(1, i) + value(2, i);
                if (tensors[0][rank].getAtIndex(ValueLayout.JAVA_FLOAT, i) != sum) {
                    return false;
                }
            }
            return true;
        }

        void assertSummed() {
            assertThat(IntStream.range(0, RANKS)).allMatch(this::isSummed);
        }
    }

    private interface Action {
        void run(int rank);
    }
}
