package org.horovod4j.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.runtime.stall.ProgramThread;
import org.horovod4j.runtime.stall.RankReport;
import org.horovod4j.runtime.stall.StateReport;
import org.horovod4j.spi.RankInfo;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Objects;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.IntToLongFunction;
import java.util.stream.IntStream;

class RankTest {
    private static final int SIZE = 2;

    /// In a container the process of a rank has often number 1, on every host.
    private static final long PID = 1;

    @Test
    void reportsHaveThreadsOfProgramIfEachRankHasItsJvm() throws Exception {
        assertThat(reportedThreads(rank -> rank)).doesNotContain(List.of());
    }

    @Test
    void reportsHaveNoThreadsIfRanksShareJvm() throws Exception {
        assertThat(reportedThreads(_ -> 7)).containsOnly(List.of());
    }

    /// @param jvmOf the number of each rank's JVM
    /// @return the threads in each rank's report
    private static List<List<ProgramThread>> reportedThreads(IntToLongFunction jvmOf)
            throws Exception {
        RanksOfOneHost allRanks = new RanksOfOneHost(SIZE);
        try (ExecutorService threads = Executors.newCachedThreadPool()) {
            List<Future<Rank>> started =
                    IntStream.range(0, SIZE)
                            .mapToObj(
                                    rank ->
                                            threads.submit(
                                                    () ->
                                                            start(
                                                                    allRanks,
                                                                    rank,
                                                                    jvmOf.applyAsLong(rank))))
                            .toList();
            try (Rank first = started.get(0).get();
                    Rank _ = started.get(1).get()) {
                return StateReport.collect(first.context().control()).reports().stream()
                        .map(Objects::requireNonNull)
                        .map(RankReport::threads)
                        .toList();
            }
        }
    }

    private static Rank start(RanksOfOneHost allRanks, int rank, long jvm) {
        return allRanks.start(
                new RankInfo(rank, "alpha", "alpha", "alpha", PID, jvm, "", List.of()),
                new RecordingMemory(),
                allRanks.transport(rank));
    }
}
