package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.util.Map;

/// `--gpus-per-rank` with real processes. The GPUs are those that the user lists, since the machine of
/// the test need not have any.
class GpusPerRankIT {
    private static final String[] PRINT = {
        "sh", "-c", "echo sees $CUDA_VISIBLE_DEVICES, owns $HOROVOD_GPUS_PER_RANK"
    };

    @Test
    void listedGpusAreDividedAmongRanks() throws Exception {
        try (LauncherProcess launcher = start("4,5,GPU-ab,7", "-np", "2", "--gpus-per-rank", "2")) {
            assertThat(launcher.exitCode()).isZero();
            assertThat(launcher.stdout().lines())
                    .containsExactlyInAnyOrder(
                            "[0]<stdout>:sees 4,5, owns 2", "[1]<stdout>:sees GPU-ab,7, owns 2");
        }
    }

    @Test
    void withoutTheFlagAllRanksSeeTheListedGpus() throws Exception {
        try (LauncherProcess launcher = start("3", "-np", "2")) {
            assertThat(launcher.exitCode()).isZero();
            assertThat(launcher.stdout().lines())
                    .containsExactlyInAnyOrder(
                            "[0]<stdout>:sees 3, owns 0", "[1]<stdout>:sees 3, owns 0");
        }
    }

    @Test
    void elasticWorkersSeeTheirOwnGpus() throws Exception {
        try (LauncherProcess launcher =
                start("1,2", "-np", "2", "--min-np", "2", "--gpus-per-rank", "1")) {
            assertThat(launcher.exitCode()).isZero();
            assertThat(launcher.stdout()).contains("sees 1, owns 1\n", "sees 2, owns 1\n");
        }
    }

    @Test
    void tooFewGpusAreReportedBeforeTheStart() throws Exception {
        try (LauncherProcess launcher = start("0,1,2", "-np", "2", "--gpus-per-rank", "2")) {
            assertThat(launcher.exitCode()).isEqualTo(HorovodRun.USAGE);
            assertThat(launcher.stdout()).isEmpty();
            assertThat(launcher.stderr())
                    .startsWith(
                            "horovodrun: localhost has 3 NVIDIA GPUs in CUDA_VISIBLE_DEVICES, but its"
                                    + " 2 ranks with --gpus-per-rank 2 need 4.\n");
        }
    }

    /// No machine has that many.
    @Test
    void gpusOfTheHostAreCounted() throws Exception {
        try (LauncherProcess launcher = start("", "-np", "1", "--gpus-per-rank", "1000")) {
            assertThat(launcher.exitCode()).isEqualTo(HorovodRun.USAGE);
            assertThat(launcher.stderr().lines().findFirst().orElseThrow())
                    .matches(
                            "horovodrun: localhost has \\d+ NVIDIA GPUs?, but its 1 rank with"
                                    + " --gpus-per-rank 1000 need 1000\\.");
        }
    }

    @Test
    void mpirunCannotAssignGpus() throws Exception {
        try (LauncherProcess launcher = start("0,1", "--mpi", "-np", "2", "--gpus-per-rank", "1")) {
            assertThat(launcher.exitCode()).isEqualTo(HorovodRun.USAGE);
            assertThat(launcher.stderr())
                    .startsWith("horovodrun: --mpi: mpirun cannot show each rank its own GPUs.");
        }
    }

    private static LauncherProcess start(String visible, String... flags) throws Exception {
        String[] arguments = new String[flags.length + PRINT.length];
        System.arraycopy(flags, 0, arguments, 0, flags.length);
        System.arraycopy(PRINT, 0, arguments, flags.length, PRINT.length);
        return LauncherProcess.start(Map.of("CUDA_VISIBLE_DEVICES", visible), arguments);
    }
}
