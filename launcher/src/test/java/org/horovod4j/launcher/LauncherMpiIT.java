package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.horovod4j.ReduceOp;
import org.horovod4j.launcher.process.SearchPath;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;

/// Runs functions by the `mpirun` of this machine, of any MPI. Skipped without one.
class LauncherMpiIT {
    @BeforeAll
    static void findMpirun() {
        String path = System.getenv().getOrDefault("PATH", "");
        assumeTrue(SearchPath.of(path).lookUp("mpirun").isPresent(), "needs an mpirun");
    }

    @Test
    void resultsAreReturnedByRank() {
        List<String> results =
                Launcher.processes(2)
                        .mpi()
                        .run(
                                comm -> {
                                    float[] sum = {comm.rank() + 1};
                                    comm.allreduce("sum", sum, ReduceOp.SUM);
                                    return "%d of %d, local %d: %.0f"
                                            .formatted(
                                                    comm.rank(),
                                                    comm.size(),
                                                    comm.localRank(),
                                                    sum[0]);
                                });
        assertThat(results).containsExactly("0 of 2, local 0: 3", "1 of 2, local 1: 3");
    }

    @Test
    void exceptionOfRankReachesProgram() {
        ConcurrentLinkedQueue<String> lines = new ConcurrentLinkedQueue<>();
        assertThatThrownBy(
                        () ->
                                Launcher.processes(2)
                                        .mpi()
                                        .verbose()
                                        .output(lines::add)
                                        .execute(
                                                comm -> {
                                                    if (comm.rank() == 1) {
                                                        throw new IllegalStateException("no data");
                                                    }
                                                    comm.barrier();
                                                }))
                .isInstanceOf(LaunchException.class)
                .hasMessageContaining("rank 1 on localhost threw")
                .hasMessageContaining("no data");
        assertThat(lines).anyMatch(line -> line.contains("First to fail was rank 1 on "));
    }
}
