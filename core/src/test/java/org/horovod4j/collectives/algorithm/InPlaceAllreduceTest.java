package org.horovod4j.collectives.algorithm;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.horovod4j.DataType;
import org.horovod4j.ReduceOp;
import org.horovod4j.Scale;
import org.horovod4j.collectives.kernel.Kernels;
import org.horovod4j.spi.Activities;
import org.horovod4j.spi.Bundle;
import org.horovod4j.transport.Clock;
import org.horovod4j.transport.Neighbourhood;
import org.horovod4j.transport.Patience;
import org.horovod4j.transport.local.LocalDomain;
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

/// Ranks help each other, and nothing is reduced twice.
class InPlaceAllreduceTest {
    private static final int RANKS = 3;

    /// Many shares for each rank, and none of them even.
    private static final long LARGE = 1_000_003;

    private final LocalDomain domain = new LocalDomain(List.of(0, 1, 2));

    @Test
    void aRankThatComesLateFindsItsPartDoneByTheOthers() throws Exception {
        try (Arena arena = Arena.ofShared();
                ExecutorService threads = Executors.newFixedThreadPool(RANKS)) {
            World world = new World(arena, LARGE);
            world.meet(threads);
            Future<?> first = threads.submit(() -> world.reduce(0));
            Future<?> second = threads.submit(() -> world.reduce(1));

            await().until(() -> world.isSummed(2));
            assertThat(first).isNotDone(); // until the late one has seen that there is nothing left
            assertThat(second).isNotDone();

            world.reduce(2);
            first.get();
            second.get();
            world.assertSummed();
        }
    }

    @ParameterizedTest(name = "{0} floats")
    @ValueSource(longs = {1, 5, 32_768, 98_303, 98_304, 98_305, 98_308, LARGE})
    void everyElementIsReducedOnceTimeAfterTime(long length) throws Exception {
        try (Arena arena = Arena.ofShared();
                ExecutorService threads = Executors.newFixedThreadPool(RANKS)) {
            World world = new World(arena, length);
            for (int time = 0; time < 20; time++) {
                world.fill();
                world.meet(threads);
                world.onEach(threads, world::reduce);
                world.assertSummed();
            }
        }
    }

    /// Three ranks, and a tensor of each that all can reach. All values are small integers, so that
    /// sums are exact.
    private final class World {
        private final long length;
        private final List<Neighbourhood> nears = new ArrayList<>();
        private final List<InPlaceAllreduce> algorithms = new ArrayList<>();
        private final MemorySegment[][] tensors = new MemorySegment[1][RANKS];
        private long stamp;

        World(Arena arena, long length) {
            this.length = length;
            for (int rank = 0; rank < RANKS; rank++) {
                Neighbourhood near =
                        new Neighbourhood(
                                domain.memory(rank), new Patience(() -> {}, Clock.SYSTEM, true));
                nears.add(near);
                algorithms.add(new InPlaceAllreduce(near, Activities.NONE));
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

        void meet(ExecutorService threads) throws Exception {
            stamp++;
            onEach(threads, rank -> nears.get(rank).meet(stamp));
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
            Bundle bundle = new Bundle(DataType.FLOAT32, length);
            bundle.set(0, tensors[0][rank], tensors[0][rank]);
            Reduction sum =
                    new Reduction(
                            Kernels.best(), DataType.FLOAT32, ReduceOp.SUM, Scale.NONE, RANKS);
            algorithms.get(rank).run(sum, bundle, tensors);
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
