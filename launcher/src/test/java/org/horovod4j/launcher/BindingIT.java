package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;

/// Which processors and how many threads the processes of a job get.
class BindingIT {
    private static final String PROCESSORS = "grep Cpus_allowed_list /proc/self/status | cut -f2";
    private static final String THREADS = "echo threads=$OMP_NUM_THREADS";

    private static final List<String> UNSET =
            List.of("env", "-u", "OMP_NUM_THREADS", "-u", "HOROVOD_BIND_TO");

    /// What the ranks print, by rank: the lines arrive in any order.
    private static List<String> output(Map<String, String> environment, String... words)
            throws Exception {
        List<String> around = environment.isEmpty() ? UNSET : List.of();
        try (LauncherProcess launcher = LauncherProcess.startWithin(around, environment, words)) {
            assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
            return launcher.stdout()
                    .lines()
                    .sorted()
                    .map(line -> line.replaceAll(".*>:", ""))
                    .toList();
        }
    }

    @Test
    void ranksAreBoundToDifferentCores() throws Exception {
        List<String> all = output(Map.of(), "-np", "2", "sh", "-c", PROCESSORS);
        assertThat(all.getFirst()).isEqualTo(all.getLast());
        List<String> bound =
                output(Map.of(), "-np", "2", "--bind-to", "core", "sh", "-c", PROCESSORS);
        if (Runtime.getRuntime().availableProcessors() > 1) {
            assertThat(bound).doesNotHaveDuplicates().doesNotContain(all.getFirst());
        }
        assertThat(output(Map.of(), "-np", "1", "--bind-to", "numa", "sh", "-c", PROCESSORS))
                .hasSize(1);
    }

    @Test
    void boundRanksKnowTheProcessorsOfTheHost() throws Exception {
        assertThat(
                        output(
                                Map.of(),
                                "-np",
                                "2",
                                "--bind-to",
                                "core",
                                "sh",
                                "-c",
                                "echo $HOROVOD_HOST_PROCESSORS"))
                .containsOnly(String.valueOf(Runtime.getRuntime().availableProcessors()));
    }

    @Test
    void variableBindsToo() throws Exception {
        assertThat(output(Map.of("HOROVOD_BIND_TO", "core"), "-np", "2", "sh", "-c", PROCESSORS))
                .isEqualTo(
                        output(Map.of(), "-np", "2", "--bind-to", "core", "sh", "-c", PROCESSORS));
    }

    @Test
    void ranksShareTheProcessorsForThreads() throws Exception {
        int processors = Runtime.getRuntime().availableProcessors();
        assertThat(output(Map.of(), "-np", "1", "sh", "-c", THREADS))
                .containsExactly("threads=" + processors);
        assertThat(output(Map.of(), "-np", "2", "sh", "-c", THREADS))
                .containsOnly("threads=" + Math.max(1, processors / 2));
        assertThat(output(Map.of("OMP_NUM_THREADS", "7"), "-np", "2", "sh", "-c", THREADS))
                .containsOnly("threads=7");
        assertThat(output(Map.of(), "-np", "2", "--min-np", "1", "sh", "-c", THREADS))
                .containsOnly("threads=" + Math.max(1, processors / 2));
    }
}
