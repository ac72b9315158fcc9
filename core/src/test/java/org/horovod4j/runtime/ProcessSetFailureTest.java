package org.horovod4j.runtime;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import org.horovod4j.Communicator;
import org.horovod4j.ConfigurationException;
import org.horovod4j.HorovodException;
import org.horovod4j.ProcessSet;
import org.horovod4j.ReduceOp;
import org.horovod4j.Tensor;
import org.horovod4j.spi.RankInfo;
import org.horovod4j.transport.SharedMemory;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

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
        try (ExecutorService threads = Executors.newFixedThreadPool(SIZE)) {
            List<Future<?>> ranks = new ArrayList<>();
            for (int number = 0; number < SIZE; number++) {
                int each = number;
                ranks.add(threads.submit(() -> runRank(each, step)));
            }
            for (Future<?> rank : ranks) {
                rank.get();
            }
        }
    }

    private void runRank(int number, Step step) {
        UnreliableMemory memory = new UnreliableMemory(step);
        try (Rank rank = allRanks.start(number, memory)) {
            Communicator communicator = rank.communicator();
            memory.fails = number == FAILING;
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
            assertThat(communicator.processSets()).hasSize(1);
            sums(communicator, SIZE);

            memory.fails = false;
            ProcessSet set = communicator.addProcessSet(0, 1);
            assertThat(set.id()).isEqualTo(1);
            if (set.isIncluded()) {
                sums(set.communicator(), 2);
            }
            communicator.barrier();
        }
    }

    private static void sums(Communicator communicator, int expected) {
        int[] ones = {1};
        communicator.allreduce("ones", Tensor.of(ones), ReduceOp.SUM);
        assertThat(ones).containsExactly(expected);
    }

    /// Shared memory that fails while `fails` is set.
    private static final class UnreliableMemory implements SharedMemoryFactory {
        private final SharedMemoryFactory reliable =
                HostSharedMemoryFactory.within(RanksOfOneHost.HOST, Path.of("/dev/shm"));
        private final Step step;
        private boolean fails;

        UnreliableMemory(Step step) {
            this.step = step;
        }

        @Override
        public Region open(int channel) {
            failIf(Step.OPEN);
            Region region = reliable.open(channel);
            return new Region() {
                @Override
                public String address() {
                    return region.address();
                }

                @Override
                public SharedMemory map(List<RankInfo> members, int rank) {
                    failIf(Step.MAP);
                    return region.map(members, rank);
                }

                @Override
                public void unlink() {
                    region.unlink();
                }

                @Override
                public void close() {
                    region.close();
                }
            };
        }

        private void failIf(Step current) {
            if (fails && step == current) {
                throw new ConfigurationException("no room for shared memory");
            }
        }
    }
}
