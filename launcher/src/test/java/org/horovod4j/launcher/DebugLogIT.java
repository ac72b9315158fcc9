package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

/// What ranks say about themselves at level `debug` and `trace`, and at the default level.
class DebugLogIT {
    private static String log(List<String> flags, String... command) throws Exception {
        List<String> words = new ArrayList<>(List.of("-np", "2"));
        words.addAll(flags);
        words.addAll(List.of(command));
        try (LauncherProcess launcher = LauncherProcess.start(words.toArray(String[]::new))) {
            assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
            return launcher.stderr();
        }
    }

    private static String[] java() {
        return TestCommands.rank(RepeatedSteps.class).words().toArray(String[]::new);
    }

    @Test
    void debugShowsRoutesAlgorithmsPlansAndWaits() throws Exception {
        assertThat(log(List.of("--log-level", "debug"), java()))
                .containsPattern(
                        "rank 0] DEBUG: Rank 1 on localhost \\(process \\d+\\): shared memory")
                .contains(
                        "DEBUG: Fusion up to 8388608 bytes, cycle time 0.0 ms, cache of 1024 requests")
                .contains(
                        "Process set 0 has 2 ranks. Allreduce by size: OneRoundAllreduce up to 4096")
                .containsPattern("DEBUG: rank 0 of 2 on localhost: vector kernels of \\d+ bits")
                .containsPattern("DEBUG: Process set 0 follows plan \\d+ of 1 batches")
                .containsPattern(
                        "leaves plan \\d+ of 1 batches after batch \\d+: the plan has no place for")
                .containsPattern(
                        "DEBUG: Process set 0: plans locked \\d+ times?, left .* waits? ended while")
                .doesNotContain("TRACE");
    }

    @Test
    void traceShowsWhatIsFused() throws Exception {
        assertThat(log(List.of("--log-level", "trace"), java()))
                .containsPattern(
                        "TRACE: Process set 0 runs allreduce of 32 bytes, fused from \\[gradient]");
    }

    @Test
    void debugShowsTcpLinks() throws Exception {
        assertThat(log(List.of("--log-level", "debug", "--transport", "tcp"), java()))
                .containsPattern(
                        "Rank 1 on localhost \\(process \\d+\\): TCP, to one of \\[/127.0.0.1:")
                .containsPattern(
                        "DEBUG: Link to rank 1 \\(localhost\\) on channel \\d+: TCP, \\d+ streams, .*127.0.0.1:")
                .contains("Allreduce by size: ");
    }

    @Test
    void missingVectorModuleIsReportedOnce() throws Exception {
        // Not by the word java alone, for which horovodrun adds the module.
        String java =
                "exec %s -cp %s %s"
                        .formatted(TestJvm.JAVA, TestJvm.CLASS_PATH, RepeatedSteps.class.getName());
        assertThat(log(List.of(), "sh", "-c", java))
                .containsOnlyOnce(
                        "WARNING: This JVM was started without the module jdk.incubator.vector")
                .contains("Start Java with --add-modules jdk.incubator.vector");
        assertThat(log(List.of("--kernels", "scalar"), "sh", "-c", java))
                .doesNotContain("jdk.incubator.vector");
        assertThat(log(List.of(), java())).isEmpty();
    }
}
