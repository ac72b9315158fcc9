package org.horovod4j.optim.overlap;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.ProcessSet;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OverlapHeuristicTest {
    @ParameterizedTest(name = "multi-host {0}, CPU {1}: {2} x {3} on {4}")
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
        // ranks wait for the network or for a GPU
        "true, true, 2, 1, 2, true",
        "false, false, 2, 1, 2, true",
        "true, false, 2, 4, 2, true",
    })
    void overlapPaysWithNetworkGpuOrIdleProcessor(
            boolean isMultiHost,
            boolean isCpu,
            int ranks,
            int threads,
            int processors,
            boolean pays) {
        assertThat(
                        new OverlapHeuristic(isMultiHost, isCpu, ranks, threads, processors)
                                .overlapPays())
                .isEqualTo(pays);
    }

    @Test
    void reasonListsRanksThreadsAndProcessors() {
        assertThat(new OverlapHeuristic(false, true, 2, 1, 2).reasonAgainst())
                .isEqualTo(
                        "every processor of this host computes: 2 ranks of 1 thread on 2 processors");
        assertThat(new OverlapHeuristic(false, true, 1, 4, 1).reasonAgainst())
                .endsWith("1 rank of 4 threads on 1 processor");
    }

    @Test
    void readsHostOfTheJob() {
        World.run(
                3,
                comm -> {
                    ProcessSet pair = comm.addProcessSet(0, 2);
                    ProcessSet mine = pair.isIncluded() ? pair : comm.processSet();
                    OverlapHeuristic heuristic = OverlapHeuristic.of(mine, true, 5);
                    assertThat(heuristic.isMultiHost()).isFalse();
                    assertThat(heuristic.isCpu()).isTrue();
                    assertThat(heuristic.ranks()).as("all ranks of the host").isEqualTo(3);
                    assertThat(heuristic.processors())
                            .isEqualTo(Runtime.getRuntime().availableProcessors());
                    assertThat(heuristic.threads()).isEqualTo(5);
                });
    }
}
