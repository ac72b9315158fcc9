package org.horovod4j.djl;

import static org.assertj.core.api.Assertions.assertThat;

import ai.djl.Device;

import org.horovod4j.ProcessSet;
import org.horovod4j.testing.World;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OverlapHeuristicTest {
    @ParameterizedTest(name = "other hosts {0}, on host {1}: {2} x {3} on {4}")
    @CsvSource({
        // ranks of one host that compute on fewer processors than it has, on all, on more
        "false, true, 2, 1, 3, true",
        "false, true, 2, 4, 9, true",
        "false, true, 2, 1, 2, false",
        "false, true, 2, 4, 8, false",
        "false, true, 4, 1, 2, false",
        "false, true, 1, 1, 1, false",
        // more threads than an int can count
        "false, true, 3, 999999999, 2, false",
        // some wait for the network or for a GPU
        "true, true, 2, 1, 2, true",
        "false, false, 2, 1, 2, true",
        "true, false, 2, 4, 2, true",
    })
    void overlapPaysWithNetworkGpuOrIdleProcessor(
            boolean otherHosts,
            boolean onHost,
            int ranks,
            int threads,
            int processors,
            boolean exists) {
        assertThat(
                        new OverlapHeuristic(otherHosts, onHost, ranks, threads, processors)
                                .overlapPays())
                .isEqualTo(exists);
    }

    @Test
    void reasonListsRanksThreadsAndProcessors() {
        assertThat(new OverlapHeuristic(false, true, 2, 1, 2).reasonAgainst())
                .isEqualTo(
                        "every processor of this host computes: 2 ranks of 1 thread on 2 processors");
        assertThat(new OverlapHeuristic(false, true, 1, 4, 1).reasonAgainst())
                .endsWith("1 rank of 4 threads on 1 processor");
    }

    @ParameterizedTest(name = "property {0}, OMP_NUM_THREADS {1}: {2} of 8")
    @CsvSource({
        ", , 8",
        ", 3, 3",
        ", '4,2', 4",
        ", ' 4 , 2', 4",
        // what OpenMP does not understand it does not heed
        ", '', 8",
        ", 0, 8",
        ", -1, 8",
        ", many, 8",
        ", 99999999999, 8",
        // DJL's own comes after OpenMP's
        "2, , 2",
        "2, 3, 2",
        "0, 3, 3",
    })
    void threadsFollowPropertyThenEnvironment(
            @Nullable Integer property, @Nullable String openMp, int threads) {
        assertThat(OverlapHeuristic.threads(property, openMp, 8)).isEqualTo(threads);
    }

    @Test
    void readsHostAndDevice() {
        World.run(
                3,
                comm -> {
                    ProcessSet pair = comm.addProcessSet(0, 2);
                    ProcessSet mine = pair.isIncluded() ? pair : comm.processSet();
                    OverlapHeuristic spare = OverlapHeuristic.of(mine, Device.cpu());
                    assertThat(spare.isMultiHost()).isFalse();
                    assertThat(spare.isCpu()).isTrue();
                    assertThat(spare.ranks()).as("all that compute").isEqualTo(3);
                    assertThat(spare.processors())
                            .isEqualTo(Runtime.getRuntime().availableProcessors());
                    assertThat(OverlapHeuristic.of(mine, Device.gpu()).isCpu()).isFalse();
                });
    }
}
