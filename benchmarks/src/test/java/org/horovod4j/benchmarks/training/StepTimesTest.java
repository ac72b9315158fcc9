package org.horovod4j.benchmarks.training;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.benchmarks.report.Result;
import org.horovod4j.testing.World;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

class StepTimesTest {
    @TempDir Path folder;

    @Test
    void resultsAreMeansOverRanks() throws IOException {
        Path output = folder.resolve("results.csv");
        World.run(
                2,
                comm -> {
                    AtomicInteger steps = new AtomicInteger();
                    // In each step, rank 0 waits 1 ms and rank 1 waits 3 ms.
                    long waited = 1_000_000L + 2_000_000L * comm.rank();
                    StepTimes.measureAllRanks(
                                    comm,
                                    () -> {
                                        steps.incrementAndGet();
                                        return waited;
                                    },
                                    2,
                                    5)
                            .appendTo(output, comm, TrainingMode.OVERLAP, "mnist", 64, 400, 5);
                    assertThat(steps).hasValue(7);
                });

        List<Result> results = Result.readAll(output);
        assertThat(results)
                .extracting(Result::program)
                .containsExactly("overlap-mnist*64", "overlap-mnist*64+waited");
        assertThat(results).allMatch(result -> result.np() == 2 && result.byteSize() == 400);
        assertThat(results).allMatch(result -> result.round() == 5 && result.turn() == 1);
        assertThat(results.getFirst().micros().median()).isPositive();
        assertThat(results.getLast().micros().median()).isEqualTo(2_000);
    }

    @Test
    void measuresOneRankWhileOthersAreIdle() throws IOException {
        Path output = folder.resolve("results.csv");
        World.run(
                3,
                comm -> {
                    AtomicInteger steps = new AtomicInteger();
                    StepTimes.measureOneRank(
                                    comm,
                                    1,
                                    () -> {
                                        steps.incrementAndGet();
                                        return 4_000_000L;
                                    },
                                    2,
                                    5)
                            .appendTo(output, comm, TrainingMode.INDEPENDENT, "mnist", 64, 400, 5);
                    assertThat(steps).hasValue(comm.rank() == 1 ? 7 : 0);
                });

        List<Result> results = Result.readAll(output);
        assertThat(results)
                .extracting(Result::program)
                .containsExactly("independent-mnist*64", "independent-mnist*64+waited");
        assertThat(results).allMatch(result -> result.np() == 1);
        assertThat(results.getLast().micros().median()).isEqualTo(4_000);
    }
}
