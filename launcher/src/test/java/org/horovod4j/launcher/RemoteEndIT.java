package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import org.horovod4j.testsupport.Processes;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;

/// How jobs on other hosts end, through agents and a [FakeSsh]: by a failure, a signal or a kill.
/// No process is left there.
class RemoteEndIT {
    private static final Duration TIMEOUT = Duration.ofSeconds(60);

    private FakeSsh ssh;

    @BeforeEach
    void createSsh(@TempDir Path folder) throws IOException {
        ssh = FakeSsh.in(folder);
    }

    @Test
    void firstFailureIsReportedWithLastErrorLines() throws Exception {
        try (LauncherProcess launcher =
                ssh.start(
                        "-np",
                        "4",
                        "-H",
                        "far1.invalid:2,far2.invalid:2",
                        "sh",
                        "-c",
                        TestCommands.RANK_3_FAILS,
                        ssh.folder().resolve("ready").toString())) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr())
                    .contains("First to fail was rank 3 on far2.invalid", "exit code 3")
                    .contains("    disk full\n", "The other processes had ended");
            assertThat(Processes.ofJob(launcher.awaitJobId())).isEmpty();
        }
    }

    @Test
    void signalReachesEveryRank() throws Exception {
        String program =
                """
                trap 'echo got INT; exit 0' INT
                echo job=$HOROVOD_JOB_ID
                while :; do sleep 0.05; done""";
        try (LauncherProcess launcher =
                ssh.start(
                        "-np",
                        "3",
                        "-H",
                        "localhost:1,far1.invalid:1,far2.invalid:1",
                        "sh",
                        "-c",
                        program)) {
            launcher.awaitOutput("job=(\\S+)", 3);
            launcher.signal("INT");
            assertThat(launcher.exitCode()).isEqualTo(130);
            assertThat(launcher.stdout())
                    .contains("[0]<stdout>:got INT", "[1]<stdout>:got INT", "[2]<stdout>:got INT");
            assertThat(Processes.ofJob(launcher.awaitJobId())).isEmpty();
        }
    }

    @Test
    void killedAgentIsHostLossWithoutOrphans() throws Exception {
        String program = "setsid sleep 1001 & echo job=$HOROVOD_JOB_ID; exec sleep 1000";
        try (LauncherProcess launcher =
                ssh.start("-np", "2", "-H", "far.invalid:2", "sh", "-c", program)) {
            launcher.awaitOutput("job=(\\S+)", 2);
            String job = launcher.awaitJobId();
            Processes.signal("KILL", Processes.agentOf(launcher.pid()));
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr())
                    .containsPattern(
                            "lost contact with host far.invalid \\(ranks 0, 1\\): ssh ended")
                    .containsPattern("First to fail was rank 0 on far.invalid")
                    .contains("contact with its host was lost", "The other processes had ended");
            awaitNoProcesses(job);
        }
    }

    @Test
    void noProcessSurvivesKilledLauncher() throws Exception {
        String program = "setsid sleep 1001 & echo job=$HOROVOD_JOB_ID; exec sleep 1000";
        try (LauncherProcess launcher =
                ssh.start("-np", "2", "-H", "far1.invalid:1,far2.invalid:1", "sh", "-c", program)) {
            launcher.awaitOutput("job=(\\S+)", 2);
            String job = launcher.awaitJobId();
            launcher.signal("KILL");
            awaitNoProcesses(job);
        }
    }

    @Test
    void leftoverProcessesAreEndedAndReportedWithHost() throws Exception {
        String program = "setsid sleep 1003 >/dev/null 2>&1 & exit 0";
        try (LauncherProcess launcher =
                ssh.start("-np", "1", "-H", "far.invalid:1", "sh", "-c", program)) {
            assertThat(launcher.exitCode()).isZero();
            assertThat(launcher.stderr())
                    .containsPattern("left behind: \\d+ .*sleep 1003.* on far.invalid");
        }
    }

    private static void awaitNoProcesses(String job) {
        await().atMost(TIMEOUT).until(() -> Processes.ofJob(job).isEmpty());
        await().atMost(TIMEOUT).until(() -> Processes.watchdogsOf(job).isEmpty());
    }
}
