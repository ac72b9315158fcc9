package org.horovod4j.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import org.horovod4j.Communicator;
import org.horovod4j.ConfigurationException;
import org.horovod4j.HorovodException;
import org.horovod4j.MismatchException;
import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.IntConsumer;

/// A process set cannot be added on one rank.
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD) // a rank left waiting
final class ProcessSetFailureTest {
    private static final int SIZE = 3;
    private static final int FAILING = 1;

    private final RanksOfOneHost allRanks = new RanksOfOneHost(SIZE);

    /// What fails on one rank.
    enum Step {
        OPEN,
        MAP
    }

    @ParameterizedTest
    @EnumSource(Step.class)
    void failureOnOneRankFailsTheSetOnAllRanksAndTheJobContinues(Step step) throws Exception {
        onAllRanks(number -> failInStep(number, step));
    }

    private void failInStep(int number, Step step) {
        RecordingMemory memory = new RecordingMemory();
        try (Rank rank = allRanks.start(number, memory)) {
            Communicator communicator = rank.communicator();
            if (number == FAILING) {
                fail(memory, step);
            }
            Throwable failure = catchThrowable(() -> communicator.addProcessSet(0, 1));
            if (number == FAILING) {
                assertThat(failure)
                        .isInstanceOf(ConfigurationException.class)
                        .hasMessage("no room for shared memory");
            } else {
                assertThat(failure)
                        .isInstanceOf(HorovodException.class)
                        .hasMessageContainingAll(
                                "adding process set [0, 1]: it failed on rank 1",
                                "no room for shared memory");
            }
            memory.beforeOpen(() -> {});
            memory.beforeMap(() -> {});
            assertNoSetWasAdded(communicator);
        }
    }

    private static void fail(RecordingMemory memory, Step step) {
        Runnable failure =
                () -> {
                    throw new ConfigurationException("no room for shared memory");
                };
        switch (step) {
            case OPEN -> memory.beforeOpen(failure);
            case MAP -> memory.beforeMap(failure);
        }
    }

    @Test
    void failureOfTheLastSetEndsAllSetsOfTheCall() throws Exception {
        onAllRanks(this::failInSecondSet);
    }

    private void failInSecondSet(int number) {
        RecordingMemory memory = new RecordingMemory();
        try (Rank rank = allRanks.start(number, memory)) {
            if (number == FAILING) {
                memory.beforeOpen(
                        () -> {
                            if (!memory.mapped.isEmpty()) {
                                throw new UnsupportedOperationException();
                            }
                        });
            }
            List<List<Integer>> sets = List.of(List.of(0, 1), List.of(1, 2));
            Throwable failure = catchThrowable(() -> rank.addProcessSets(sets));
            if (number == FAILING) {
                assertThat(failure).isInstanceOf(UnsupportedOperationException.class);
            } else {
                assertThat(failure)
                        .isInstanceOf(HorovodException.class)
                        .hasMessageContainingAll(
                                "adding process set [1, 2]: it failed on rank 1",
                                "java.lang.UnsupportedOperationException");
            }
            assertThat(failure.getSuppressed()).isEmpty();
            assertThat(memory.mapped)
                    .hasSize(number == 2 ? 0 : 1)
                    .allMatch(ended -> !ended.region(0).scope().isAlive());
            memory.beforeOpen(() -> {});
            assertNoSetWasAdded(rank.communicator());
        }
    }

    @Test
    void formerSetsWithDifferentNumbersFail() throws Exception {
        onAllRanks(
                number -> {
                    try (Rank rank = allRanks.start(number, new RecordingMemory())) {
                        int id = number == 0 ? 1 : 2;
                        assertThatThrownBy(
                                        () ->
                                                rank.addProcessSetsAgain(
                                                        new TreeMap<>(Map.of(id, List.of(1, 0)))))
                                .isInstanceOf(MismatchException.class)
                                .hasMessageContainingAll(
                                        "rank 0: adding process sets [1 of ranks [0, 1]]",
                                        "rank 1: adding process sets [2 of ranks [0, 1]]");
                        assertNoSetWasAdded(rank.communicator());
                    }
                });
    }

    private static void onAllRanks(IntConsumer program) throws Exception {
        try (ExecutorService threads = Executors.newFixedThreadPool(SIZE)) {
            List<Future<?>> ranks = new ArrayList<>();
            for (int number = 0; number < SIZE; number++) {
                int each = number;
                ranks.add(threads.submit(() -> program.accept(each)));
            }
            for (Future<?> rank : ranks) {
                rank.get();
            }
        }
    }

    /// All ranks work, and the next set gets the first number.
    private static void assertNoSetWasAdded(Communicator communicator) {
        assertThat(communicator.processSets()).hasSize(1);
        sums(communicator, SIZE);
        ProcessSet set = communicator.addProcessSet(0, 1);
        assertThat(set.id()).isEqualTo(1);
        if (set.isIncluded()) {
            sums(set.communicator(), 2);
        }
        communicator.barrier();
    }

    private static void sums(Communicator communicator, int expected) {
        int[] ones = {1};
        communicator.allreduce("ones", Tensor.of(ones), ReduceOp.SUM);
        assertThat(ones).containsExactly(expected);
    }
}
