package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;

class ExitCodesIT {
    @Test
    void zeroWhenAllRanksSucceed() throws Exception {
        try (LauncherProcess launcher = LauncherProcess.start("-np", "3", "true")) {
            assertThat(launcher.exitCode()).isZero();
            assertThat(launcher.stderr()).isEmpty();
        }
    }

    @Test
    void oneWhenARankFails() throws Exception {
        try (LauncherProcess launcher =
                LauncherProcess.start("-np", "2", "sh", "-c", "exit $((HOROVOD_RANK * 7))")) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr()).contains("rank 1 on localhost", "exit code 7");
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "-np 2 no-such-command              | command 'no-such-command' not found",
                "-np 4 -H localhost:2 true          | 2 slots in all",
                "-np 0 true                         | -np: '0' is not a number",
                "-np 2                              | no command to run"
            })
    void twoWhenTheCommandLineIsWrong(String line, String message) throws Exception {
        try (LauncherProcess launcher = LauncherProcess.start(line.split(" "))) {
            assertThat(launcher.exitCode()).isEqualTo(2);
            assertThat(launcher.stderr()).startsWith("horovodrun: ").contains(message);
            assertThat(launcher.stderr().lines()).hasSize(1);
        }
    }

    /// Found once before the start, not by each rank.
    @ParameterizedTest
    @ValueSource(strings = {"", "--min-np 1"})
    void twoWhenAVariableForTheProcessesIsWrong(String flags, @TempDir Path folder)
            throws Exception {
        Path started = folder.resolve("started");
        String line = "-np 2 %s -- touch %s".formatted(flags, started);
        try (LauncherProcess launcher =
                LauncherProcess.start(
                        Map.of("HOROVOD_TIMELINE_MAX_BYTES", "lots"), line.split(" +"))) {
            assertThat(launcher.exitCode()).isEqualTo(2);
            assertThat(launcher.stderr())
                    .startsWith(
                            "horovodrun: HOROVOD_TIMELINE_MAX_BYTES is 'lots', which is not allowed\n");
            assertThat(started).doesNotExist();
        }
    }

    @Test
    void oneWhenAHostCannotTakePart() throws Exception {
        try (LauncherProcess launcher =
                LauncherProcess.start("-np", "2", "-H", "elsewhere.invalid:2", "true")) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr())
                    .startsWith(
                            "horovodrun: host elsewhere.invalid is not ready: its name cannot be"
                                    + " resolved.")
                    .endsWith("horovodrun: 1 of 1 hosts are not ready, so nothing was started.\n");
        }
    }

    @Test
    void helpAndVersionGoToStandardOutput() throws Exception {
        for (String option : List.of("--help", "--version")) {
            try (LauncherProcess launcher = LauncherProcess.start(option)) {
                assertThat(launcher.exitCode()).isZero();
                assertThat(launcher.stdout()).contains("horovodrun");
                assertThat(launcher.stderr()).isEmpty();
            }
        }
    }
}
