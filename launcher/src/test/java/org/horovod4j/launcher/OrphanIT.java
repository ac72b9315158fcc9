package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import org.horovod4j.testsupport.Processes;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;

/// No process outlives its job, even if the launcher is killed.
class OrphanIT {
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    @Test
    void noProcessSurvivesKilledLauncher() throws Exception {
        // Each rank leaves a child in its group and one in another session.
        String program =
                "sleep 1000 & setsid sleep 1001 & echo job=$HOROVOD_JOB_ID; exec sleep 1002";
        try (LauncherProcess launcher = LauncherProcess.start("-np", "3", "sh", "-c", program)) {
            launcher.awaitOutput("job=(\\S+)", 3);
            String job = launcher.awaitJobId();
            await().until(() -> Processes.ofJob(job).size() == 9);
            launcher.signal("KILL");
            awaitNoProcesses(job);
        }
    }

    @Test
    void rankIgnoringSignalsDoesNotSurviveLauncher() throws Exception {
        String program =
                "trap '' TERM HUP INT; echo job=$HOROVOD_JOB_ID; while :; do sleep 1; done";
        try (LauncherProcess launcher = LauncherProcess.start("-np", "2", "sh", "-c", program)) {
            launcher.awaitOutput("job=(\\S+)", 2);
            String job = launcher.awaitJobId();
            launcher.signal("KILL");
            awaitNoProcesses(job);
        }
    }

    @Test
    void watchdogIgnoresSignals() throws Exception {
        String program = "echo job=$HOROVOD_JOB_ID; exec sleep 1000";
        try (LauncherProcess launcher = LauncherProcess.start("-np", "2", "sh", "-c", program)) {
            String job = launcher.awaitJobId();
            assertThat(Processes.watchdogsOf(job)).hasSize(1);
            long watchdog = Processes.watchdogsOf(job).getFirst();
            assertThat(Processes.ofJob(job)).doesNotContain(watchdog);
            for (String signal : new String[] {"INT", "TERM", "HUP"}) {
                Processes.signal(signal, watchdog);
            }
            assertThat(Processes.watchdogsOf(job)).containsExactly(watchdog);
            launcher.signal("KILL");
            awaitNoProcesses(job);
        }
    }

    @Test
    void leftoverProcessesAreEndedAndReported() throws Exception {
        String program = "setsid sleep 1003 >/dev/null 2>&1 & echo job=$HOROVOD_JOB_ID; exit 0";
        try (LauncherProcess launcher = LauncherProcess.start("-np", "2", "sh", "-c", program)) {
            assertThat(launcher.exitCode()).isZero();
            assertThat(launcher.stderr().lines())
                    .hasSize(2)
                    .allMatch(line -> line.matches(".* left behind: \\d+ .*sleep 1003.*"));
            String job = launcher.awaitJobId();
            assertThat(Processes.ofJob(job)).isEmpty();
            assertThat(Processes.watchdogsOf(job)).isEmpty();
        }
    }

    /// Root can read the variables of all processes, and any user could copy the job's.
    @Test
    void processOfAnotherUserIsNeitherEndedNorReported(@TempDir Path folder) throws Exception {
        assumeTrue(
                Files.getAttribute(folder, "unix:uid").equals(0), "only root can change its user");
        String program =
                "_=$(setpriv --reuid 65534 --clear-groups setsid sh -c 'exec sleep 1007 >/dev/null"
                        + " 2>&1' &); echo job=$HOROVOD_JOB_ID";
        try (LauncherProcess launcher = LauncherProcess.start("-np", "1", "sh", "-c", program)) {
            assertThat(launcher.exitCode()).as(launcher.stderr()).isZero();
            List<Long> left = Processes.ofJob(launcher.awaitJobId());
            try {
                assertThat(left).hasSize(1);
                assertThat(launcher.stderr()).isEmpty();
            } finally {
                for (long process : left) {
                    Processes.signal("KILL", process);
                }
            }
        }
    }

    @Test
    void nestedJobEndsItself() throws Exception {
        try (LauncherProcess launcher =
                LauncherProcess.start(
                        Map.of("HOROVOD_JOB_ID", "outer", "HOROVOD_RANK", "7"),
                        "-np",
                        "2",
                        "sh",
                        "-c",
                        "echo job=$HOROVOD_JOB_ID rank=$HOROVOD_RANK")) {
            assertThat(launcher.exitCode()).isZero();
            assertThat(launcher.stdout())
                    .contains("rank=0", "rank=1")
                    .doesNotContain("outer", "rank=7");
        }
    }

    private static void awaitNoProcesses(String job) {
        await().atMost(TIMEOUT).until(() -> Processes.ofJob(job).isEmpty());
        await().atMost(TIMEOUT).until(() -> Processes.watchdogsOf(job).isEmpty());
    }
}
