package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.testsupport.TestJvm;
import org.junit.jupiter.api.Test;

import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

class OutputIT {
    @Test
    void linesOfRanksDoNotMix() throws Exception {
        try (LauncherProcess launcher =
                LauncherProcess.start(TestCommands.job("-np 4", ManyLinesProgram.class, "2000"))) {
            assertThat(launcher.exitCode()).isZero();
            List<String> lines = launcher.stdout().lines().toList();
            assertThat(lines).hasSize(4 * 2000);
            for (int rank = 0; rank < 4; rank++) {
                String prefix = "[" + rank + "]<stdout>:";
                assertThat(lines.stream().filter(line -> line.startsWith(prefix)))
                        .containsExactlyElementsOf(
                                IntStream.range(0, 2000)
                                        .mapToObj(line -> prefix + ManyLinesProgram.line(line))
                                        .toList());
            }
            assertThat(launcher.stderr()).doesNotContain("incubator").isEmpty();
        }
    }

    @Test
    void partialLinesArePassedOn() throws Exception {
        try (LauncherProcess launcher =
                LauncherProcess.start(
                        "-np", "4", "sh", "-c", "printf '10 %%\\r20 %%\\rdone'; printf oops >&2")) {
            assertThat(launcher.exitCode()).isZero();
            for (int rank = 0; rank < 4; rank++) {
                String prefix = "[" + rank + "]<stdout>:";
                assertThat(launcher.stdout())
                        .contains(prefix + "10 %\r" + prefix + "20 %\r", prefix + "done\n");
                assertThat(launcher.stderr()).contains("[" + rank + "]<stderr>:oops\n");
            }
        }
    }

    @Test
    void linesAreShownWhileTheJobRuns() throws Exception {
        try (LauncherProcess launcher =
                LauncherProcess.start("-np", "2", "sh", "-c", "echo here=1; exec sleep 1000")) {
            assertThat(launcher.awaitOutput("here=(1)", 2)).hasSize(2);
        }
    }

    @Test
    void ranksGetRankVariablesAndLauncherEnvironment() throws Exception {
        try (LauncherProcess launcher =
                LauncherProcess.start(
                        Map.of(
                                "GREETING",
                                "hello",
                                "NCCL_DEBUG",
                                "INFO",
                                "OLDPWD",
                                "/",
                                "BASH_FUNC_f%%",
                                "() { :; }",
                                "HOROVOD_SECRET_KEY",
                                "of an outer job"),
                        "-np",
                        "2",
                        "-H",
                        "localhost:3",
                        "env")) {
            assertThat(launcher.exitCode()).isZero();
            assertThat(launcher.stdout())
                    .contains("[0]<stdout>:HOROVOD_RANK=0\n", "[1]<stdout>:HOROVOD_RANK=1\n")
                    .contains("[1]<stdout>:HOROVOD_LOCAL_RANK=1\n", "HOROVOD_LOCAL_SIZE=2\n")
                    .contains("HOROVOD_CROSS_RANK=0\n", "HOROVOD_CROSS_SIZE=1\n")
                    .contains("HOROVOD_SIZE=2\n", "HOROVOD_HOSTNAME=localhost\n")
                    .contains("HOROVOD_RENDEZVOUS_ADDR=127.0.0.1\n", "HOROVOD_RENDEZVOUS_PORT=")
                    .contains("HOROVOD_RENDEZVOUS_SERVER=launcher\n", "HOROVOD_SECRET_FILE=/")
                    .contains("[0]<stdout>:GREETING=hello\n", "[1]<stdout>:NCCL_DEBUG=INFO\n")
                    .doesNotContain("OLDPWD=", "BASH_FUNC_", "HOROVOD_SECRET_KEY");
        }
    }

    @Test
    void standardInputIsEmpty() throws Exception {
        try (LauncherProcess launcher =
                LauncherProcess.start("-np", "2", "sh", "-c", "cat; echo end")) {
            assertThat(launcher.exitCode()).isZero();
            assertThat(launcher.stdout().lines())
                    .containsExactlyInAnyOrder("[0]<stdout>:end", "[1]<stdout>:end");
        }
    }

    @Test
    void verboseShowsTheCommandAsRun() throws Exception {
        try (LauncherProcess launcher =
                LauncherProcess.start(
                        "-np",
                        "1",
                        "--verbose",
                        "java",
                        "-cp",
                        TestJvm.CLASS_PATH,
                        ManyLinesProgram.class.getName(),
                        "0")) {
            assertThat(launcher.exitCode()).isZero();
            assertThat(launcher.stderr())
                    .contains("java --add-modules jdk.incubator.vector --enable-native");
        }
    }
}
