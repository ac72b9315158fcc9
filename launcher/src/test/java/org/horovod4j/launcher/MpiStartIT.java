package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.testsupport.Processes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/// How long `horovodrun --mpi` waits for the first rank. A script in place of `mpirun` claims to be
/// Open MPI, so no MPI is needed.
class MpiStartIT {
    private static final String VERSION =
            """
            #!/bin/sh
            if [ "$1" = --version ]; then echo 'mpirun (Open MPI) 4.1.4'; exit; fi
            """;

    @TempDir Path folder;

    private LauncherProcess start(String script, String... command) throws IOException {
        return start(6, script, command);
    }

    private LauncherProcess start(int startTimeout, String script, String... command)
            throws IOException {
        Path mpirun = Files.writeString(folder.resolve("mpirun"), VERSION + script);
        assertThat(mpirun.toFile().setExecutable(true)).isTrue();
        String[] words = {"-np", "1", "--mpi", "--start-timeout", Integer.toString(startTimeout)};
        String[] all = new String[words.length + command.length];
        System.arraycopy(words, 0, all, 0, words.length);
        System.arraycopy(command, 0, all, words.length, command.length);
        return LauncherProcess.start(Map.of("PATH", folder + ":" + System.getenv("PATH")), all);
    }

    /// Like an mpirun that asks for a password, or waits for a host.
    @Test
    void mpirunWithoutRanksIsEndedAfterStartTimeout() throws Exception {
        String script =
                """
                echo job=$HOROVOD_JOB_ID
                setsid sleep 1001 &
                exec sleep 1000
                """;
        try (LauncherProcess launcher = start(script, "true")) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr())
                    .startsWith(
                            "horovodrun: 1 of 1 ranks had not started within the start timeout"
                                    + " of 6 s, so mpirun was ended\n")
                    .contains("with 'hostname' for the program", "Raise --start-timeout");
            String job = launcher.awaitOutput("job=(\\S+)", 1).getFirst();
            assertThat(Processes.ofJob(job)).isEmpty();
        }
    }

    /// An mpirun that ignores SIGTERM.
    @Test
    void mpirunIgnoringSigtermIsKilled() throws Exception {
        String script =
                """
                trap '' TERM
                echo job=$HOROVOD_JOB_ID
                while :; do sleep 0.1; done
                """;
        try (LauncherProcess launcher = start(script, "true")) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr()).contains("1 of 1 ranks had not started within");
            String job = launcher.awaitOutput("job=(\\S+)", 1).getFirst();
            assertThat(Processes.ofJob(job)).isEmpty();
        }
    }

    /// Its program never joins the others and prints nothing.
    @Test
    void startedRankIsNotTimedOut() throws Exception {
        String script =
                """
                until [ "$1" = sh ]; do shift; done
                "$@" 2>&1 >/dev/null | sed -u 's/^/[1,0]<stderr>:/' >&2
                """;
        Path done = folder.resolve("done");
        try (LauncherProcess launcher =
                start(10, script, "sh", "-c", "sleep 11; touch \"$0\"", done.toString())) {
            assertThat(launcher.exitCode()).as(launcher::stderr).isZero();
            assertThat(launcher.stderr()).isEmpty();
            assertThat(done).exists();
        }
    }

    @Test
    void mpirunEndingBeforeRanksStartIsReported() throws Exception {
        try (LauncherProcess launcher = start(60, "echo no such host >&2; exit 213\n", "true")) {
            assertThat(launcher.exitCode()).isEqualTo(213);
            assertThat(launcher.stderr())
                    .isEqualTo(
                            """
                            no such host
                            horovodrun: the job failed: mpirun ended before any rank had started (exit code 213). \
                            Its messages are above.
                            """);
        }
    }
}
