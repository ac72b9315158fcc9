package org.horovod4j.launcher;

import static org.assertj.core.api.Assertions.assertThat;

import org.horovod4j.testsupport.Processes;
import org.horovod4j.testsupport.SlowCases;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import java.nio.file.Path;
import java.util.List;

/// What happens when a rank fails while the others run.
class FailureIT {
    private static final String PRINT_PID_AND_WAIT = "echo job=$HOROVOD_JOB_ID; echo pid=$$; ";

    @Test
    void firstFailureIsReportedWithLastErrorLines() throws Exception {
        String program =
                """
                if [ $HOROVOD_RANK = 2 ]; then
                    for line in 1 2 3 4 5 6 7 8 9 10 11 12; do echo "reason $line" >&2; done
                    exit 3
                fi
                exec sleep 1000""";
        try (LauncherProcess launcher = LauncherProcess.start("-np", "4", "sh", "-c", program)) {
            assertThat(launcher.exitCode()).isOne();
            String report =
                    launcher.stderr().substring(launcher.stderr().indexOf("the job failed"));
            assertThat(report)
                    .contains("First to fail was rank 2 on localhost", "exit code 3")
                    .contains("    reason 3\n", "    reason 12\n", "The other processes had ended")
                    .doesNotContain("    reason 2\n");
        }
    }

    @Test
    void exceptionOfOneRankIsReportedToOthers() throws Exception {
        String thrown = "java.lang.IllegalStateException: no such layer";
        try (LauncherProcess launcher = twoRanks(ThrowingRank.class)) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr())
                    .contains("[1]<stderr>:Exception in thread \"main\" " + thrown)
                    .containsPattern(
                            "\\[0]<stderr>:.*PeerLostException: rank 1 on \\S+ is lost: its program"
                                    + " failed: "
                                    + thrown
                                    + " \\(at \\S*ThrowingRank.main\\(ThrowingRank.java:\\d+\\)\\)\n");
            assertThat(launcher.stderr().lines())
                    .filteredOn(line -> line.startsWith("[0]<stderr>:"))
                    .hasSize(1);
            assertThat(launcher.stderr().lines())
                    .filteredOn(line -> line.contains("ThrowingRank.depth"))
                    .hasSizeGreaterThan(30);
            assertThat(launcher.stderr().substring(launcher.stderr().indexOf("the job failed")))
                    .contains(
                            "First to fail was rank 1",
                            "    Exception in thread \"main\" " + thrown);
        }
    }

    @Test
    void rankFailingDueToPeerLossIsNotFirstFailure() throws Exception {
        try (LauncherProcess launcher = twoRanks(SlowExitAfterFailure.class)) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr())
                    .containsSubsequence(
                            "rank 0 on localhost", "failed: exit code 1", "rank 1 on localhost")
                    .containsPattern("First to fail was rank 1 on localhost .*: exit code 3\\.");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"exit", "shutdown"})
    @SlowCases({"halt", "return", "before-init"})
    void rankThatEndsWithZeroTooEarlyIsFirstFailure(String way) throws Exception {
        try (LauncherProcess launcher =
                LauncherProcess.start(TestCommands.job("-np 3", EarlyExit.class, way))) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr())
                    .containsPattern(
                            "First to fail was rank 1 on localhost .*: exit code 0 while other"
                                    + " ranks still needed it \\(");
        }
    }

    @Test
    void killedRankIsReportedWithSignal() throws Exception {
        try (LauncherProcess launcher =
                LauncherProcess.start(
                        "-np", "3", "sh", "-c", PRINT_PID_AND_WAIT + "exec sleep 1000")) {
            launcher.awaitOutput("pid=(\\d+)", 3);
            String pid = launcher.awaitOutput("^\\[1]<stdout>:pid=(\\d+)", 1).getFirst();
            Processes.signal("KILL", Long.parseLong(pid));
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stderr())
                    .contains("First to fail was rank 1 on localhost")
                    .contains("killed by signal 9 (SIGKILL)");
            assertThat(Processes.ofJob(launcher.awaitJobId())).isEmpty();
        }
    }

    @Test
    void survivorsMayExitBeforeSigterm(@TempDir Path folder) throws Exception {
        // Rank 1 waits for the exit of rank 0. It would print "asked" if it got a signal before.
        String program =
                """
                if [ $HOROVOD_RANK = 0 ]; then
                    echo $$ >"$0/new"; mv "$0/new" "$0/pid"
                    until [ -e "$0/ready" ]; do sleep 0.02; done
                    exit 1
                fi
                trap 'echo asked' TERM
                until [ -e "$0/pid" ]; do sleep 0.02; done
                touch "$0/ready"
                while kill -0 $(cat "$0/pid"); do sleep 0.02; done
                echo lost a peer; exit 1""";
        try (LauncherProcess launcher =
                LauncherProcess.start("-np", "2", "sh", "-c", program, folder.toString())) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stdout()).contains("lost a peer").doesNotContain("asked");
        }
    }

    @Test
    void remainingSurvivorsGetSigtermThenSigkill(@TempDir Path folder) throws Exception {
        String program =
                """
                if [ $HOROVOD_RANK = 0 ]; then
                    until [ -e "$0/ready" ]; do sleep 0.02; done
                    exit 1
                fi
                echo job=$HOROVOD_JOB_ID
                trap 'echo asked' TERM
                touch "$0/ready"
                while :; do sleep 0.1; done""";
        try (LauncherProcess launcher =
                LauncherProcess.start(
                        "-np", "2", "--verbose", "sh", "-c", program, folder.toString())) {
            assertThat(launcher.exitCode()).isOne();
            assertThat(launcher.stdout()).contains("[1]<stdout>:asked");
            assertThat(launcher.stderr()).contains("killed by signal 9 (SIGKILL)");
            String job = launcher.awaitOutput("job=(\\S+)", 1).getFirst();
            assertThat(Processes.ofJob(job)).isEmpty();
        }
    }

    @Test
    void childProcessesEndWithTheirRank() throws Exception {
        String program = PRINT_PID_AND_WAIT + "sleep 1000 & sleep 1001 & wait";
        try (LauncherProcess launcher = LauncherProcess.start("-np", "2", "sh", "-c", program)) {
            List<String> pids = launcher.awaitOutput("pid=(\\d+)", 2);
            Processes.signal("KILL", Long.parseLong(pids.getFirst()));
            assertThat(launcher.exitCode()).isOne();
            assertThat(Processes.ofJob(launcher.awaitJobId())).isEmpty();
        }
    }

    private static LauncherProcess twoRanks(Class<?> program) throws Exception {
        return LauncherProcess.start(TestCommands.job("-np 2", program));
    }
}
